# SPDX-License-Identifier: Apache-2.0
"""A user's own rule from a Python file, and what can be wrong with it."""

import re
import sys
from textwrap import dedent

import pytest

from ahasd import UserError
from ahasd.system.drafting.file import FileOptions
from ahasd.system.drafting.svip import SvipOptions
from ahasd.system.workload.replay import replay

HEAD = """\
from ahasd.system.drafting.base import DraftingRule


class Own(DraftingRule):
"""


@pytest.fixture
def write(tmp_path):
    """Write a rule file and return its options."""

    def run(text, name="Own"):
        path = tmp_path / "own.py"
        path.write_text(dedent(text))
        return FileOptions(path=str(path), name=name)

    return run


def _line(error):
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_class_of_the_user_s_own_does_what_a_built_in_rule_does(write, shipped):
    text = "    def trips(self, index, token):\n        return token.entropy_nats > 0.6\n"
    own = write(HEAD + text).model_copy(update={"k_max": 12})
    assert replay(shipped, own.build()) == replay(shipped, SvipOptions(k_max=12).build())


def test_a_function_is_a_rule_too(write, shipped):
    options = write("def own(index, token):\n    return token.entropy_nats > 0.6\n", "own")
    own = options.model_copy(update={"k_max": 12})
    assert replay(shipped, own.build()) == replay(shipped, SvipOptions(k_max=12).build())


def test_every_call_reaches_the_user_s_rule(write, token, judged):
    calls = """
    def __init__(self):
        self.heard = []

    def begin_request(self):
        self.heard.append("request")

    def begin_batch(self):
        self.heard.append("batch")

    def begin_chain(self):
        self.heard.append("chain")

    def skips(self, right):
        self.heard.append(right)
        return True

    def trips(self, index, token):
        self.heard.append(index)
        return index == 2

    def feedback(self, judged):
        self.heard.append((judged.drafted, judged.accepted, judged.round_ps))
"""
    drafting = write(HEAD + calls).build()
    drafting.begin_request()
    drafting.observe(token())
    drafting.observe(token())
    drafting.feedback(judged(2, 1, 7))
    drafting.begin_chain()
    assert drafting.skips(False)
    assert drafting.rule.inner.heard == ["request", "batch", 1, 2, (2, 1, 7), "chain", False]


def test_every_build_runs_the_file_anew(write, token):
    text = """\
    seen = []

    def own(index, token):
        seen.append(1)
        return len(seen) > 1
    """
    options = write(text, "own")
    first, second = options.build_rule(), options.build_rule()
    assert [first.trips(1, token()), first.trips(1, token())] == [False, True]
    assert not second.trips(1, token())


def test_limits_hold_for_a_user_s_rule(write, token):
    options = write("def own(index, token):\n    return True\n", "own")
    drafting = options.model_copy(update={"min_len": 3}).build()
    outcomes = [drafting.observe(token()).name for _ in range(3)]
    assert outcomes == ["CONTINUE", "CONTINUE", "STOP_KEEP"]


def test_a_numpy_bool_is_an_answer(write, token):
    options = write("import numpy\n\ndef own(index, token):\n    return numpy.True_\n", "own")
    assert options.build_rule().trips(1, token()) is True


def test_a_dataclass_with_postponed_annotations_is_a_rule(write, token):
    text = """\
    from __future__ import annotations

    from dataclasses import dataclass, field

    from ahasd.system.drafting.base import DraftingRule


    @dataclass
    class Own(DraftingRule):
        seen: list[int] = field(default_factory=list)

        def trips(self, index, token):
            self.seen.append(index)
            return len(self.seen) > 1
    """
    rule = write(text).build_rule()
    assert [rule.trips(1, token()), rule.trips(2, token())] == [False, True]


def test_nothing_is_left_beside_the_user_s_file(write, tmp_path):
    write("def own(index, token):\n    return True\n", "own").build_rule()
    assert [path.name for path in tmp_path.iterdir()] == ["own.py"]


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(UserError, match=r"there is no rule file .*/none\.py; correct draft\.path"):
        FileOptions(path=str(tmp_path / "none.py"), name="Own").build_rule()


def test_a_folder_is_no_rule_file(tmp_path):
    with pytest.raises(UserError, match="there is no rule file"):
        FileOptions(path=str(tmp_path), name="Own").build_rule()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "there is no 'Own' in this file; name a class or a function that it holds"),
        ("Own = 3\n", "Own is no drafting rule; let it be a class that inherits from ahasd"),
        ("class Own:\n    pass\n", "Own is no drafting rule; let it be a class that inherits"),
        ("x = 1\nOwn = 1 / 0\n", ", line 2: the file of a user's rule failed with ZeroDivision"),
        ("import no_such_module\n", ", line 1: the file of a user's rule failed with ModuleNot"),
        ("def f(:\n", ", line 1: the file of a user's rule failed with SyntaxError: invalid"),
        (
            "def f():\n  x = 1\n    y = 2\n",
            ", line 3: the file of a user's rule failed with",
        ),
        ("import sys\nsys.exit(3)\n", ", line 2: the file of a user's rule failed with SystemExit"),
        ("raise ValueError('two\\nlines')\n", "ValueError: two lines; mend it"),
        ("raise ValueError\n", "failed with ValueError; mend it"),
        ("x = '\\0'\0\n", "the file of a user's rule failed with"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(write, tmp_path, text, message):
    options = write(text)
    with pytest.raises(UserError, match=re.escape(message)) as error:
        options.build()
    assert _line(error).startswith(str(tmp_path / "own.py"))


def test_a_file_that_is_not_utf_8_is_refused(tmp_path):
    path = tmp_path / "own.py"
    path.write_bytes(b"x = '\xff'\n")
    with pytest.raises(UserError, match="the file of a user's rule failed with SyntaxError"):
        FileOptions(path=str(path), name="Own").build()


def test_a_class_that_needs_arguments_is_refused(write):
    options = write(HEAD + "    def __init__(self, level):\n        pass\n")
    with pytest.raises(UserError, match=r"own\.py: Own of a user's rule failed with TypeError"):
        options.build()


@pytest.mark.parametrize("method", ["begin_request", "begin_batch", "trips", "feedback"])
def test_what_a_rule_raises_is_told_with_its_place(write, token, judged, method):
    body = f"""
    def {method}(self, *arguments):
        self.helper()

    def helper(self):
        raise KeyError("lost")
"""
    rule = write(HEAD + body).build_rule()
    calls = {
        "begin_request": (),
        "begin_batch": (),
        "trips": (1, token()),
        "feedback": (judged(2, 1),),
    }
    with pytest.raises(UserError) as error:
        getattr(rule, method)(*calls[method])
    expected = rf"own\.py, line 10: Own\.{method} of a user's rule failed with KeyError: 'lost'"
    assert re.search(expected, _line(error))


def test_endless_recursion_is_told_too(write, token):
    rule = write("def own(index, token):\n    return own(index, token)\n", "own").build_rule()
    with pytest.raises(UserError, match=r"own\.py, line 2: own\.trips .* RecursionError"):
        rule.trips(1, token())


def test_a_function_of_other_arguments_is_told(write, token):
    rule = write("def own(token):\n    return True\n", "own").build_rule()
    with pytest.raises(UserError, match=r"own\.trips of a user's rule failed with TypeError"):
        rule.trips(1, token())


@pytest.mark.parametrize("answer", ["None", "1", "'yes'", "0.5"])
def test_an_answer_that_is_no_bool_is_refused(write, token, answer):
    rule = write(f"def own(index, token):\n    return {answer}\n", "own").build_rule()
    expected = rf"rule own must return True or False for every token, but it returned {answer}"
    with pytest.raises(UserError, match=expected) as error:
        rule.trips(1, token())
    _line(error)


def test_a_class_without_an_answer_is_refused(write, token):
    rule = write(HEAD + "    pass\n").build_rule()
    with pytest.raises(UserError, match=r"must return True or False .* but it returned None"):
        rule.trips(1, token())


def test_an_interrupt_is_not_the_rule_s_fault(write, token):
    rule = write("def own(index, token):\n    raise KeyboardInterrupt\n", "own").build_rule()
    with pytest.raises(KeyboardInterrupt):
        rule.trips(1, token())


def test_two_files_of_one_name_do_not_meet(tmp_path, token):
    rules = []
    for folder, answer in (("a", True), ("b", False)):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "own.py"
        path.write_text(f"def own(index, token):\n    return {answer}\n")
        rules.append(FileOptions(path=str(path), name="own").build_rule())
    assert [rule.trips(1, token()) for rule in rules] == [True, False]
    assert "own" not in sys.modules
