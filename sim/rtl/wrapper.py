# SPDX-License-Identifier: Apache-2.0
"""The C interface around a CXXRTL model, written from the unit's port list."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

WORD_BITS = 64
DOMAINS = 4
"""Most clock domains of a unit."""
WATCHED = 64
"""Most pins of a kind that can end a span of edges."""


@dataclass(frozen=True)
class Pin:
    """Where a port lies in the interface's array of 64-bit words."""

    name: str
    width: int
    offset: int

    @property
    def words(self) -> int:
        """Words that the port takes."""
        return -(-self.width // WORD_BITS)


def layout(ports: Sequence[dict[str, Any]], direction: str) -> tuple[Pin, ...]:
    """Lay the ports of one direction (`in` or `out`) out in words, in the manifest's order."""
    pins: list[Pin] = []
    offset = 0
    for port in ports:
        if port["direction"] == direction:
            pins.append(Pin(port["name"], port["width"], offset))
            offset += pins[-1].words
    return tuple(pins)


def _member(name: str) -> str:
    """Return the C++ member that CXXRTL makes of a port."""
    return "unit.p_" + name.replace("_", "__")


def _chunks(pin: Pin) -> range:
    return range(-(-pin.width // 32))  # CXXRTL keeps values in chunks of 32 bits


def source(ports: Sequence[dict[str, Any]], domains: Sequence[str], module: str) -> str:
    """Return the C++ source that wraps `unit.cc`.

    Parameters
    ----------
    ports
        Port list of the manifest.
    domains
        Clock domains; bit i of a clock mask is the i-th.
    module
        Module name given to CXXRTL.

    Notes
    -----
    An edge is: inputs in, clocks high, evaluate, outputs out, commit, clocks low. Evaluation gives
    combinational values of the inputs and the old state, which is what the edge sees, and the next
    state, which only the commit makes current. One evaluation is enough as there is no feedback:
    CXXRTL warns of it, and a warning fails the build. Its memory of the clocks' last level is set
    here, as otherwise an evaluation with them low would be needed.
    """
    load = [
        f"    {_member(pin.name)}.data[{i}] ="
        f" uint32_t(in[{pin.offset + i // 2}] >> {32 * (i % 2)})"
        f" & {(1 << min(32, pin.width - 32 * i)) - 1:#x}u;"
        for pin in layout(ports, "in")
        for i in _chunks(pin)
    ]
    store = []
    for pin in layout(ports, "out"):
        for word in range(pin.words):
            parts = [
                f"uint64_t(chunk({_member(pin.name)}, {i})) << {32 * (i % 2)}"
                for i in _chunks(pin)
                if i // 2 == word
            ]
            store.append(f"    out[{pin.offset + word}] = {' | '.join(parts)};")
    clocks = [
        f"    if (clocks >> {i} & 1) {_member(domain + '_clk')}.set<bool>(true);"
        for i, domain in enumerate(domains)
    ]
    low = [
        f"    unit.{prefix}p_{(domain + '_clk').replace('_', '__')}.set<bool>(false);"
        for domain in domains
        for prefix in ("", "prev_")
    ]
    resets = [f"    {_member(domain + '_rst')}.set<bool>(level);" for domain in domains]
    newline = "\n"
    return f"""// Written by ahasd; do not edit.
#include "unit.cc"
#ifdef AHASD_WAVES
#include <cxxrtl/cxxrtl_vcd.h>
#endif

namespace {{

template<size_t Bits>
uint32_t chunk(const cxxrtl::value<Bits> &port, size_t i) {{ return port.data[i]; }}
template<size_t Bits>
uint32_t chunk(const cxxrtl::wire<Bits> &port, size_t i) {{ return port.curr.data[i]; }}

struct Model {{
  cxxrtl_design::p_{module.replace("_", "__")} unit;
#ifdef AHASD_WAVES
  cxxrtl::debug_items items;
  cxxrtl::vcd_writer vcd;
#endif

  void raise_clocks(uint32_t clocks) {{
{newline.join(clocks)}
  }}
  void lower_clocks() {{
{newline.join(low)}
  }}
  void set_resets(bool level) {{
{newline.join(resets)}
  }}
  void load(const uint64_t *in) {{
{newline.join(load)}
  }}
  void store(uint64_t *out) {{
{newline.join(store)}
  }}
  // Without outputs, a null pointer.
  bool edge(uint32_t clocks, uint64_t *out) {{
    raise_clocks(clocks);
    unit.eval();
    if (out) store(out);
    bool changed = unit.commit();
    lower_clocks();
    return changed;
  }}
}};

}} // namespace

extern "C" {{

// What ends a span of edges, and where it ended; `ahasd.sim.ports.Watch` says what is what.
struct Watch {{
  uint64_t periods_ps[{DOMAINS}], next_ps[{DOMAINS}], quiet[{DOMAINS}], edges[{DOMAINS}];
  uint64_t until_ps, settle, now_word, time_ps;
  uint64_t level_words[{WATCHED}], level_values[{WATCHED}];
  uint32_t transfer_words[{WATCHED}], transfer_domains[{WATCHED}], idle_words[{WATCHED}];
  uint32_t transfers, levels, idles, now_domain, clocks;
}};

void ahasd_destroy(Model *model) {{ delete model; }}

// One edge of the clocks in the mask; returns whether it changed any state.
int ahasd_step(Model *model, uint32_t clocks, const uint64_t *in, uint64_t *out) {{
  model->load(in);
  return model->edge(clocks, out);
}}

// Every edge up to a time with the same inputs, but for a word that counts the edges of a domain;
// returns the time of the first edge that changed state, 0 if none did.
uint64_t ahasd_run(Model *model, const uint64_t *periods, uint64_t *next, uint64_t until,
                   uint64_t *in, uint64_t now_word, uint32_t now_domain) {{
  model->load(in);
  for (;;) {{
    uint64_t time = next[0];
    for (size_t i = 1; i < {len(domains)}; i++) if (next[i] < time) time = next[i];
    if (time > until) return 0;
    uint32_t clocks = 0;
    for (size_t i = 0; i < {len(domains)}; i++)
      if (next[i] == time) {{ clocks |= 1u << i; next[i] += periods[i]; }}
    if (model->edge(clocks, nullptr)) return time;
    if (now_word != UINT64_MAX && (clocks >> now_domain & 1)) {{
      in[now_word]++;
      model->load(in);
    }}
  }}
}}

// Edges up to the first that is watched for, but at least one; returns whether the last changed
// any state.
int ahasd_advance(Model *model, uint64_t *in, uint64_t *out, Watch *watch) {{
  const size_t domains = {len(domains)};
  bool changed = false;
  for (size_t i = 0; i < domains; i++) watch->edges[i] = 0;
  model->load(in);
  for (;;) {{
    uint64_t time = watch->next_ps[0];
    for (size_t i = 1; i < domains; i++)
      if (watch->next_ps[i] < time) time = watch->next_ps[i];
    if (time > watch->until_ps) return changed;
    uint32_t clocks = 0;
    for (size_t i = 0; i < domains; i++)
      if (watch->next_ps[i] == time) {{
        clocks |= 1u << i;
        watch->next_ps[i] += watch->periods_ps[i];
        watch->edges[i]++;
      }}
    changed = model->edge(clocks, out);
    watch->time_ps = time;
    watch->clocks = clocks;

    bool moved = false, rests = true, ends = false;
    for (size_t i = 0; i < watch->transfers; i++)
      moved |= (clocks >> watch->transfer_domains[i] & 1) && out[watch->transfer_words[i]];
    for (size_t i = 0; i < watch->idles; i++) rests &= out[watch->idle_words[i]] != 0;
    for (size_t i = 0; i < watch->levels; i++)
      ends |= out[watch->level_words[i]] != watch->level_values[i];
    bool settled = true;
    for (size_t i = 0; i < domains; i++) {{
      watch->quiet[i] = moved || !rests ? 0 : watch->quiet[i] + (clocks >> i & 1);
      settled &= watch->quiet[i] >= watch->settle;
    }}
    if (moved || settled || ends) return changed;
    if (watch->now_word != UINT64_MAX && (clocks >> watch->now_domain & 1)) {{
      in[watch->now_word]++;
      model->load(in);
    }}
  }}
}}

Model *ahasd_create() {{
  Model *model = new Model();
  model->set_resets(true);
  model->edge({(1 << len(domains)) - 1}u, nullptr);
  model->set_resets(false);
#ifdef AHASD_WAVES
  model->unit.debug_info(&model->items, nullptr, "");
  model->vcd.timescale(1, "ps");
  model->vcd.add(model->items);
#endif
  return model;
}}

#ifdef AHASD_WAVES
// Append the present values to the waveform, then move out the text that is ready.
void ahasd_sample(Model *model, const uint64_t *in, uint64_t time_ps) {{
  model->load(in);
  model->unit.eval();
  model->vcd.sample(time_ps);
}}
size_t ahasd_waves(Model *model, const char **text) {{
  *text = model->vcd.buffer.data();
  return model->vcd.buffer.size();
}}
#endif

}} // extern "C"
"""
