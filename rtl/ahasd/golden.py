# SPDX-License-Identifier: Apache-2.0
"""Bit- and cycle-exact model of the top: the units' own models and the registers between them.

Whatever goes from one unit to another passes a register, so within an edge every unit can be
stepped on its own: its inputs are the top's pins, the top's registers, and the control registers.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from ahasd.rtl.ahasd.params import AhasdParams, State, request_widths
from ahasd.rtl.edc.golden import EdcGolden
from ahasd.rtl.edc.params import Cause, Decision, Verdict
from ahasd.rtl.gtsu.golden import GtsuGolden
from ahasd.rtl.gtsu.params import Kind as TaskKind
from ahasd.rtl.gtsu.params import State as GtsuState
from ahasd.rtl.host.golden import HostGolden
from ahasd.rtl.host.params import pack, unpack
from ahasd.rtl.queues.golden import QueuesGolden, Report, Word
from ahasd.rtl.queues.params import Event, Kind
from ahasd.rtl.tvc.golden import TvcGolden
from ahasd.rtl.tvc.params import Decision as Answer
from ahasd.rtl.tvc.params import NpuEvent, NpuKind, Record
from ahasd.rtl.tvc.params import Request as Question

PIM, NPU = 1, 2
"""Bits of the clock mask."""

Pins = Mapping[str, int]

DOMAINS = {"host": PIM | NPU, "edc": PIM, "tvc": PIM, "queues": PIM | NPU, "gtsu": PIM}
"""The units, and the clocks of each."""

COMMANDS = ("edc_command", "tvc_command", "gtsu_command", "tvc_record")
"""Streams of the host interface, each with a register behind it."""


class Part(Protocol):
    """A unit in the top: its golden model, or anything that behaves like it."""

    def step(self, pins: Pins, clocks: int) -> dict[str, int]:
        """Take an edge of the clocks in the mask, or none, and return the outputs before it."""
        ...

    @property
    def changed(self) -> bool:
        """Whether the last step changed any state; may err towards yes."""
        ...


class _Alone:
    """A golden model of one domain, with `changed` read off its pins."""

    changed = True

    def __init__(self, model: Any) -> None:
        self._model = model

    def step(self, pins: Pins, clocks: int) -> dict[str, int]:
        outputs = self._model.step(pins, clocks)
        offered = any(value for name, value in pins.items() if name.endswith("__valid"))
        self.changed = bool(clocks) and (offered or not outputs["idle_pim"])
        return outputs

    @property
    def counts(self) -> bool:
        return self._model.counts

    def count(self) -> None:
        self._model.count()


class _Resting:
    """A part that is not stepped while no step can change anything.

    That is so when a step of each of its domains, in a row and with these same inputs, changed
    nothing. The cycle counter is no input while it rests.
    """

    def __init__(self, part: Part, domains: int) -> None:
        self._part = part
        self._domains = domains
        self._still = 0
        self._pins: Pins = {}
        self._outputs: dict[str, int] = {}

    @property
    def rests(self) -> bool:
        """Whether it is at a fixed point of its last inputs."""
        return self._still == self._domains

    def step(self, pins: dict[str, int], clocks: int, now: int | None = None) -> dict[str, int]:
        same = pins == self._pins
        if same and self.rests:
            return self._outputs
        clocks &= self._domains
        self._pins = pins
        self._outputs = self._part.step(pins if now is None else {**pins, "now": now}, clocks)
        if self._part.changed:
            self._still = 0
        else:
            self._still = (self._still if same else 0) | clocks
        return self._outputs


def fit(value: int, width: int) -> int:
    """Return a value of a control register, or the largest that a unit's input holds."""
    return min(value, (1 << width) - 1)


class AhasdGolden:
    """What the top does, edge by edge.

    Parameters
    ----------
    params
        Sizes; the same object builds the hardware.
    parts
        Units that are something else than their golden models, by name.
    """

    latency = 7
    interval = 1

    def __init__(self, params: AhasdParams, parts: Mapping[str, Part] | None = None) -> None:
        self.params = params
        found: dict[str, Part] = {
            "host": HostGolden(params.host),
            "edc": _Alone(EdcGolden(params.edc)),
            "tvc": _Alone(TvcGolden(params.tvc)),
            "queues": QueuesGolden(params.queues),
            "gtsu": _Alone(GtsuGolden(params.gtsu)),
        } | dict(parts or {})
        self._parts = {name: _Resting(found[name], DOMAINS[name]) for name in DOMAINS}
        self._state = State.COLLECT
        self._word = Word(Kind.HEADER, 0)
        self._payload = 0  # the same, with bits that are in no field
        self._entropy = 0
        self._left = 0  # tokens to come in, then to go out
        self._index = 0
        self._tokens = [0] * params.queues.batch_tokens
        self._fresh = False
        self._commands: dict[str, int | None] = dict.fromkeys(COMMANDS)
        self._verdict: Verdict | None = None
        self._npu_event: int | None = None
        self._asking = self._asked = False
        self._request = dict.fromkeys(request_widths(params), 0)
        self._entry: int | None = None
        self._task: int | None = None
        self._pim_events = self._npu_events = 0
        self._pim_status = self._npu_status = 0
        self._offered = False
        tvc = found["tvc"]
        self._tvc = tvc if isinstance(tvc, _Alone) else None
        self._pins: dict[str, int] = {}
        self._outputs: dict[str, int] = {}
        self._still = 0

    def step(self, pins: Pins, clocks: int) -> dict[str, int]:
        """Take one edge of one domain or both.

        Parameters
        ----------
        pins
            Input pins by their Verilog names, all of them.
        clocks
            Bit 0 the PIM's edge, bit 1 the NPU's.

        Returns
        -------
        dict
            Output pins by their Verilog names, as they stand just before the edge.
        """
        self._pins["now"] = pins["now"]
        same = self._pins == pins
        if same and self._rests(clocks):
            return self._outputs
        before = self._registers()
        counts = not clocks & PIM or self._counts
        self._outputs = self._step(pins, clocks)
        # Where the TVC does more than count, its pins may move, and registers after them.
        still = same and self._registers() == before and (counts or self._parts["tvc"].rests)
        self._still = self._still | clocks if still else 0
        self._pins = dict(pins)
        return self._outputs

    def _rests(self, clocks: int) -> bool:
        """Take an edge if it moves no pin, and nothing but the count of a computation of the TVC.

        It cannot move anything else if, with the same inputs, an edge of each domain moved nothing.
        """
        others_rest = all(part.rests for name, part in self._parts.items() if name != "tvc")
        if self._still != PIM | NPU or not others_rest:
            return False
        if self._parts["tvc"].rests or not clocks & PIM:
            return True
        if self._tvc is None or not self._tvc.counts:
            return False
        self._tvc.count()
        return True

    @property
    def _counts(self) -> bool:
        """Whether an edge of the PIM moves nothing in the TVC but the count of a computation."""
        return self._tvc is not None and self._tvc.counts

    def _registers(self) -> tuple[object, ...]:
        """Every flip-flop of the top's own."""
        return (
            (self._state, self._word, self._payload, self._entropy),
            (self._left, self._index, self._fresh),
            tuple(self._commands.values()),
            (self._verdict, self._npu_event, self._entry, self._task),
            (self._asking, self._asked, tuple(self._request.values())),
            (self._pim_events, self._npu_events, self._pim_status, self._npu_status),
            self._offered,
        )

    def _step(self, pins: Pins, clocks: int) -> dict[str, int]:
        """Take an edge in full."""
        host = self._step_host(pins, clocks)
        control = unpack("control", host["control"])
        edc = self._step_edc(pins, clocks, control)
        tvc = self._step_tvc(pins, clocks, control)
        queues = self._step_queues(pins, clocks)
        gtsu = self._step_gtsu(pins, clocks, control)

        granting = self._state is State.GRANT and not edc["decision__valid"]
        grant = Decision(True, Cause.PREDICTED).pack()
        free = self._entry is None
        takes_feedback = self._takes_feedback
        waits = queues["batch_out__valid"] and not pins["batch_out__ready"]
        room = queues["credits"] > 0 and (
            not control["edc_enable"] or edc["outstanding"] < self.params.edc.max_outstanding
        )
        outputs = {
            "draft__ready": int(self._state is State.COLLECT),
            "request__ready": int(not self._asking),
            "task__ready": int(gtsu["task__ready"] and self._task is None),
            "done__ready": gtsu["done__ready"],
            "measure__ready": int(tvc["record__ready"] and self._commands["tvc_record"] is None),
            "decision__valid": int(edc["decision__valid"] or granting),
            "decision__payload": grant if granting else edc["decision__payload"],
            "feedback__valid": int(queues["feedback_out__valid"] and takes_feedback),
            "feedback__payload": queues["feedback_out__payload"],
            "answer__valid": int(tvc["decision__valid"] and free),
            "answer__payload": tvc["decision__payload"],
            "preverify__valid": int(queues["preverify_out__valid"] and self._task is None),
            "preverify__payload": queues["preverify_out__payload"],
            "issue__valid": gtsu["issue__valid"],
            "issue__payload": gtsu["issue__payload"],
            "compute_grant": gtsu["compute_grant"],
            "mask": gtsu["mask"],
            "running": gtsu["running"],
            "room": int(room),
            "batch_out__valid": queues["batch_out__valid"],
            "batch_out__payload": queues["batch_out__payload"],
            "feedback_in__ready": queues["feedback_in__ready"],
            "epoch_npu": queues["epoch_npu"],
            "flushing": queues["flushing"],
            "irq": host["irq"],
            "idle_npu": int(
                host["idle_npu"] and (queues["idle_npu"] or waits) and not self._npu_events
            ),
            "idle_pim": int(
                all(unit["idle_pim"] for unit in (host, edc, tvc, queues, gtsu))
                and self._state is State.COLLECT
                and all(command is None for command in self._commands.values())
                and self._verdict is None
                and self._npu_event is None
                and not self._asking
                and self._entry is None
                and self._task is None
                and not self._pim_events
            ),
        } | {name: host[name] for name in ("aw__ready", "w__ready", "ar__ready")}
        outputs |= {
            name: host[name] for name in ("b__valid", "b__payload", "r__valid", "r__payload")
        }
        if clocks & NPU:
            self._npu_edge(pins, queues)
        if clocks & PIM:
            self._pim_edge(pins, outputs, control, host, edc, tvc, queues, gtsu)
        return outputs

    @property
    def _takes_feedback(self) -> bool:
        """Whether feedback may come: none between a batch's offer to the EDC and its decision."""
        return (
            self._state not in (State.OFFER, State.AWAIT, State.GRANT)
            and self._verdict is None
            and self._npu_event is None
        )

    def _step_host(self, pins: Pins, clocks: int) -> dict[str, int]:
        names = ("aw", "w", "ar")
        inputs = {f"{name}__valid": pins[f"{name}__valid"] for name in names}
        inputs |= {f"{name}__payload": pins[f"{name}__payload"] for name in names}
        inputs |= {f"{name}__ready": int(self._commands[name] is None) for name in COMMANDS}
        inputs |= {
            "b__ready": pins["b__ready"],
            "r__ready": pins["r__ready"],
            "pim_events": self._pim_events,
            "npu_events": self._npu_events,
            "pim_status": self._pim_status,
            "npu_status": self._npu_status,
        }
        return self._parts["host"].step(inputs, clocks)

    def _step_edc(self, pins: Pins, clocks: int, control: Mapping[str, int]) -> dict[str, int]:
        params = self.params.edc
        command = self._commands["edc_command"]
        boundaries = sum(
            (control[f"edc_boundary_{i}"] & params.entropy_max) << (i * params.entropy_width)
            for i in range(params.boundary_count)
        )
        inputs = {
            "draft__valid": int(self._state is State.OFFER),
            "draft__payload": self._entropy,
            "verdict__valid": int(self._verdict is not None),
            "verdict__payload": int(self._verdict or 0),
            "command__valid": int(command is not None),
            "command__payload": command or 0,
            "decision__ready": pins["decision__ready"],
            "boundaries": boundaries,
            "recheck": control["edc_recheck"],
            "explore": control["edc_explore"],
        }
        return self._parts["edc"].step(inputs, clocks)

    def _step_tvc(self, pins: Pins, clocks: int, control: Mapping[str, int]) -> dict[str, int]:
        params = self.params.tvc
        command = self._commands["tvc_command"]
        preload = self._commands["tvc_record"]
        record = pins["measure__payload"] if preload is None else preload
        request = self._request
        inputs = {
            "record__valid": int(preload is not None or bool(pins["measure__valid"])),
            "record__payload": record,
            "npu__valid": int(self._npu_event is not None),
            "npu__payload": self._npu_event or 0,
            "command__valid": int(command is not None),
            "command__payload": command or 0,
            "request__valid": int(self._asking and not self._asked),
            "request__payload": Question(
                request["overhead_tokens"], request["available_tokens"]
            ).pack(params),
            "decision__ready": int(pins["answer__ready"] and self._entry is None),
            "npu_ratio": control["tvc_npu_ratio"],
            "switch_cycles": fit(control["tvc_switch_cycles"], params.cycles_width),
            "slowdown_cycles": fit(control["tvc_slowdown_cycles"], params.cycles_width),
            "max_length": fit(control["tvc_max_length"], params.tokens_width),
            "affine_npu": control["tvc_affine_npu"],
            "affine_preverify": control["tvc_affine_preverify"],
            "cold_preverify_cycles": fit(control["tvc_cold_cycles"], params.cycles_width),
        }
        return self._parts["tvc"].step(inputs, clocks, pins["now"])

    def _step_queues(self, pins: Pins, clocks: int) -> dict[str, int]:
        sending = self._state in (State.HEAD, State.TOKENS)
        payload = self._payload
        if self._state is State.TOKENS:
            token = Word(Kind.TOKEN, self._word.epoch, self._tokens[self._index])
            payload = token.pack(self.params.queues)
        inputs = {
            "batch_in__valid": int(sending),
            "batch_in__payload": payload if sending else 0,
            "feedback_out__ready": int(pins["feedback__ready"] and self._takes_feedback),
            "preverify_in__valid": int(self._entry is not None),
            "preverify_in__payload": self._entry or 0,
            "preverify_out__ready": int(pins["preverify__ready"] and self._task is None),
            "batch_out__ready": pins["batch_out__ready"],
            "feedback_in__valid": pins["feedback_in__valid"],
            "feedback_in__payload": pins["feedback_in__payload"],
        }
        return self._parts["queues"].step(inputs, clocks)

    def _step_gtsu(self, pins: Pins, clocks: int, control: Mapping[str, int]) -> dict[str, int]:
        params = self.params.gtsu
        command = self._commands["gtsu_command"]
        if self._task is None:
            valid, task = pins["task__valid"], TaskKind.DRAFT | pins["task__payload"] << 1
        else:
            valid, task = 1, TaskKind.PREVERIFY | self._task << 1
        ranks = (1 << params.ranks) - 1
        inputs = {
            "task__valid": valid,
            "task__payload": task,
            "done__valid": pins["done__valid"],
            "done__payload": pins["done__payload"],
            "command__valid": int(command is not None),
            "command__payload": command or 0,
            "issue__ready": pins["issue__ready"],
            "drained": pins["drained"],
            "layer_boundary": pins["layer_boundary"],
            "compute_request": pins["compute_request"],
            "dlm_mask": control["gtsu_dlm_mask"] & ranks,
            "tlm_mask": control["gtsu_tlm_mask"] & ranks,
            "switch_cycles": control["gtsu_switch_cycles"],
            "drain_max_cycles": control["gtsu_drain_max"],
            "preempt": control["gtsu_preempt"],
        }
        return self._parts["gtsu"].step(inputs, clocks)

    def _npu_edge(self, pins: Pins, queues: Mapping[str, int]) -> None:
        """Note the NPU side's events and state for its counters."""
        valid = bool(queues["batch_out__valid"])
        kind = Kind(queues["batch_out__payload"] & 3)
        taken = valid and bool(pins["batch_out__ready"])
        fed = bool(pins["feedback_in__valid"] and queues["feedback_in__ready"])
        rejects = Report.unpack(pins["feedback_in__payload"], self.params.queues).rejects
        self._npu_events = pack(
            "npu_events",
            draft_ready=int(valid and not self._offered),
            batches_delivered=int(taken and kind is Kind.HEADER),
            tokens_delivered=int(taken and kind is Kind.TOKEN),
            cuts_delivered=int(taken and kind is Kind.CUT),
            feedback_accepted=int(fed),
            rejections=int(fed and rejects),
        )
        self._npu_status = pack(
            "npu_status", epoch=queues["epoch_npu"], flushing=queues["flushing"]
        )
        self._offered = valid

    def _pim_edge(
        self,
        pins: Pins,
        outputs: Pins,
        control: Mapping[str, int],
        host: Pins,
        edc: Pins,
        tvc: Pins,
        queues: Pins,
        gtsu: Pins,
    ) -> None:
        """Move what stands in the registers between the units."""

        def moves(stream: str) -> bool:
            return bool(outputs[f"{stream}__valid"] and pins[f"{stream}__ready"])

        events: dict[str, int] = {}
        delivered = moves("feedback")
        self._advance_batch(pins, outputs, control, edc, queues, delivered, events)

        # The registers' contents go on; what comes in finds them empty.
        if self._verdict is not None and edc["verdict__ready"]:
            self._verdict = None
        if self._npu_event is not None and tvc["npu__ready"]:
            self._npu_event = None
        if self._entry is not None and queues["preverify_in__ready"]:
            self._entry = None
        if self._task is not None and gtsu["task__ready"]:
            self._task = None
        elif moves("preverify"):
            task = queues["preverify_out__payload"] >> (
                self.params.queues.epoch_width
                + self.params.queues.branch_width
                + self.params.queues.kv_width
                + self.params.queues.length_width
            )
            self._task = task
        self._pass_commands(host, edc, tvc, gtsu)
        if delivered:
            self._deliver(queues["feedback_out__payload"], control, events)
        self._ask(pins, outputs, tvc, moves("answer"), events)

        issued = moves("issue")
        preverify = bool(gtsu["issue__payload"] & 1)
        state = GtsuState(gtsu["state"])
        before = unpack("pim_status", self._pim_status)["gtsu_state"]
        events |= {
            "feedback_delivered": int(delivered),
            "tasks_draft": int(issued and not preverify),
            "tasks_preverify": int(issued and preverify),
            "switches": int(state is GtsuState.SWITCHING and before != GtsuState.SWITCHING),
        }
        self._pim_events = pack("pim_events", **events)
        self._pim_status = pack(
            "pim_status",
            outstanding=edc["outstanding"],
            epoch=queues["epoch_pim"],
            gtsu_state=gtsu["state"],
            pending=gtsu["pending"],
            credits=queues["credits"],
            waiting_tokens=queues["waiting_tokens"],
            mask=gtsu["mask"],
            edc_orphan=edc["orphan"],
            tvc_bad_record=tvc["bad_record"],
            queues_bad_word=queues["bad_word"],
            gtsu_timeout=gtsu["timeout"],
            gtsu_bad_masks=gtsu["bad_masks"],
            gtsu_orphan_done=gtsu["orphan_done"],
        )

    def _advance_batch(
        self,
        pins: Pins,
        outputs: Pins,
        control: Mapping[str, int],
        edc: Pins,
        queues: Pins,
        delivered: bool,
        events: dict[str, int],
    ) -> None:
        """Bring the batch from the sequencer through the EDC into the draft queue."""
        decided = bool(outputs["decision__valid"] and pins["decision__ready"])
        decision = outputs["decision__payload"]
        if decided:
            answer = decision >> 1 in (Cause.PREDICTED, Cause.EXPLORED)
            go = bool(decision & 1)
            events |= {
                "decisions_go": int(answer and go),
                "decisions_stop": int(answer and not go),
                "releases": int(not answer),
            }
        fresh = self._word.epoch == queues["epoch_pim"]
        match self._state:
            case State.COLLECT:
                if pins["draft__valid"]:
                    self._collect(pins["draft__payload"])
            case State.READY:
                if not delivered and not fresh:
                    events["batches_dropped"] = 1
                    self._state = State.COLLECT
                # Feedback that is on offer must not be withdrawn.
                elif not outputs["feedback__valid"] and self._verdict is None and outputs["room"]:
                    events["batches_offered"] = 1
                    self._state = State.OFFER if control["edc_enable"] else State.GRANT
            case State.OFFER:
                if edc["draft__ready"]:
                    self._state = State.AWAIT
            case State.AWAIT:
                if decided:
                    self._state = State.HEAD
            case State.GRANT:
                if decided and not edc["decision__valid"]:
                    self._state = State.HEAD
            case State.HEAD:
                if queues["batch_in__ready"]:
                    self._fresh = fresh
                    if self._word.kind is Kind.HEADER:
                        events["batches_pushed" if fresh else "batches_dropped"] = 1
                        self._state = State.TOKENS
                        self._index = 0
                        self._left = self._word.length
                    else:
                        events["cuts_pushed"] = int(fresh and self._word.kind is Kind.CUT)
                        self._state = State.COLLECT
            case State.TOKENS:
                if queues["batch_in__ready"]:
                    events["tokens_pushed"] = int(self._fresh)
                    self._index = (self._index + 1) % (1 << self.params.index_width)
                    self._left -= 1
                    if not self._left:
                        self._state = State.COLLECT

    def _collect(self, payload: int) -> None:
        """Take a word from the sequencer. One out of place is passed on as an `ACK`: an error."""
        queues = self.params.queues
        width = 2 + queues.epoch_width + queues.body_width
        raw = payload & ((1 << width) - 1)
        word = Word.unpack(raw, queues)
        if word.kind is Kind.TOKEN and self._left:
            self._tokens[self._index] = word.token
            self._index = (self._index + 1) % (1 << self.params.index_width)
            self._left -= 1
            if not self._left:
                self._state = State.READY
            return
        in_place = not self._left and word.kind is not Kind.TOKEN
        if word.kind is Kind.HEADER and in_place and 1 <= word.length <= queues.batch_tokens:
            self._word, self._payload = word, raw
            self._entropy = payload >> width
            self._left = word.length
            self._index = 0
            return
        legal = in_place and word.kind is Kind.CUT
        self._word = word if legal else word._replace(kind=Kind.ACK)
        self._payload = raw if legal else raw & ~3 | Kind.ACK
        self._left = 0
        self._state = State.HEAD

    def _pass_commands(self, host: Pins, edc: Pins, tvc: Pins, gtsu: Pins) -> None:
        """Give the host's commands to the units, and take the next."""
        ready = {
            "edc_command": edc["command__ready"],
            "tvc_command": tvc["command__ready"],
            "gtsu_command": gtsu["command__ready"],
            "tvc_record": tvc["record__ready"],
        }
        for name, held in self._commands.items():
            if held is not None:
                if ready[name]:
                    self._commands[name] = None
            elif host[f"{name}__valid"]:
                payload = host[f"{name}__payload"]
                if name == "tvc_record":
                    params = self.params.tvc
                    cycles = fit(payload >> 2 & 0xFFFF_FFFF, params.cycles_width)
                    length = fit(payload >> 34, params.length_width)
                    payload = Record(payload & 3, cycles, length).pack(params)
                self._commands[name] = payload

    def _deliver(self, payload: int, control: Mapping[str, int], events: dict[str, int]) -> None:
        """Tell EDC and TVC what the feedback means to them."""
        report = Report.unpack(payload, self.params.queues)
        if report.event is Event.START:
            event = NpuEvent(NpuKind.START, report.kv_length, report.npu_cycles)
            self._npu_event = event.pack(self.params.tvc)
            return
        if report.void:
            verdict = Verdict.VOID
        else:
            verdict = Verdict.ACCEPTED if report.full else Verdict.REJECTED
        events[f"verdicts_{verdict.name.lower()}"] = 1
        if control["edc_enable"]:
            self._verdict = verdict
        if report.last:
            event = NpuEvent(NpuKind.END, report.kv_length, report.npu_cycles)
            self._npu_event = event.pack(self.params.tvc)

    def _ask(
        self, pins: Pins, outputs: Pins, tvc: Pins, answered: bool, events: dict[str, int]
    ) -> None:
        """Bring a request to the TVC and its decision into the pre-verification queue."""
        if self._asking and not self._asked and tvc["request__ready"]:
            self._asked = True
        if answered:
            answer = Answer.unpack(tvc["decision__payload"], self.params.tvc)
            if answer.length:
                events |= {"preverify_inserts": 1, "preverify_tokens": answer.length}
                self._entry = self._pack_entry(answer.length)
            self._asking = self._asked = False
        elif pins["request__valid"] and outputs["request__ready"]:
            events["preverify_requests"] = 1
            self._asking = True
            payload = pins["request__payload"]
            for name, width in request_widths(self.params).items():
                self._request[name] = payload & ((1 << width) - 1)
                payload >>= width

    def _pack_entry(self, length: int) -> int:
        """Return the entry of the pre-verification queue for the present request."""
        queues = self.params.queues
        packed = offset = 0
        for value, width in (
            (self._request["epoch"], queues.epoch_width),
            (self._request["branch"], queues.branch_width),
            (self._request["position"], queues.kv_width),
            (length, queues.length_width),
            (self._request["task"], queues.task_width),
        ):
            packed |= value << offset
            offset += width
        return packed
