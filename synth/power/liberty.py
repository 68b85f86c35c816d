# SPDX-License-Identifier: Apache-2.0
"""Groups and attributes of Liberty text, those of a few cells only: whole libraries are large."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from ahasd import UserError

_TOKEN = re.compile(r'"(?P<text>[^"]*)"|(?P<mark>[{}():;,])|(?P<word>[^\s"{}():;,]+)')
_NOISE = re.compile(r"/\*.*?\*/|\\\s*\n", re.DOTALL)
_CELL = re.compile(r"^\s*cell\s*\(\s*\"?(?P<name>[\w$]+)\"?\s*\)", re.MULTILINE)


@dataclass
class Group:
    """A group: `kind (arguments) { attributes and groups }`.

    Attributes
    ----------
    kind, arguments
        What stands before the brace.
    values
        Attributes by name, each a list of texts; the last one of a name counts.
    groups
        The groups in it.
    """

    kind: str
    arguments: list[str]
    values: dict[str, list[str]] = field(default_factory=dict)
    groups: list["Group"] = field(default_factory=list)

    def of(self, *kinds: str) -> Iterator["Group"]:
        """Yield the groups of these kinds, in order."""
        return (group for group in self.groups if group.kind in kinds)

    def text(self, name: str, default: str = "") -> str:
        """Return an attribute's text."""
        return self.values[name][0] if self.values.get(name) else default

    def numbers(self, name: str) -> list[float]:
        """Return the numbers of an attribute, however they are grouped; none if it is missing."""
        texts = " ".join(self.values.get(name, ()))
        return [float(number) for number in re.findall(r"[-+.\deE]+", texts)]


def head(text: str) -> Group:
    """Return a library without its cells: units, defaults, templates of tables."""
    bare = _NOISE.sub(" ", text)
    first = _CELL.search(bare)
    return _parsed(bare[: first.start()] + "}" if first else bare)


def cells(text: str, wanted: Collection[str]) -> dict[str, Group]:
    """Return the cells of these names that a library has."""
    bare = _NOISE.sub(" ", text)
    starts = list(_CELL.finditer(bare))
    ends = [start.start() for start in starts[1:]] + [len(bare)]
    return {
        start["name"]: _parsed(bare[start.start() : end])
        for start, end in zip(starts, ends, strict=True)
        if start["name"] in wanted
    }


def _parsed(text: str) -> Group:
    """Parse the first group of a text."""
    tokens = [(str(each.lastgroup), each[str(each.lastgroup)]) for each in _TOKEN.finditer(text)]
    root = Group("", [])
    open_groups = [root]
    at = 0
    try:
        while at < len(tokens):
            kind, token = tokens[at]
            if kind == "mark":
                if token == "}":
                    open_groups.pop()
                    if open_groups[-1] is root:
                        break
                at += 1
                continue
            following = tokens[at + 1][1]
            if following == ":":
                end = at + 2
                while tokens[end] != ("mark", ";"):
                    end += 1
                    if tokens[end][1] in ("}", ":", "(") and tokens[end][0] == "mark":
                        end = at + 3  # no semicolon: the value is one word
                        break
                open_groups[-1].values[token] = [word for _, word in tokens[at + 2 : end]]
                at = end
            elif following == "(":
                end = at + 2
                while tokens[end] != ("mark", ")"):
                    end += 1
                arguments = [word for kind, word in tokens[at + 2 : end] if kind != "mark"]
                at = end + 1
                if at < len(tokens) and tokens[at] == ("mark", "{"):
                    group = Group(token, arguments)
                    open_groups[-1].groups.append(group)
                    open_groups.append(group)
                    at += 1
                else:
                    open_groups[-1].values[token] = arguments
            else:
                at += 1
        return root.groups[0]
    except IndexError:
        raise UserError(f"not Liberty, or cut off: {text.strip()[:60]!r}") from None
