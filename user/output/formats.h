/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * formats.h - the emitters of this folder. Only cmd/common/formats.c names them.
 */
#ifndef KRAIT_OUTPUT_FORMATS_H
#define KRAIT_OUTPUT_FORMATS_H

#include "output/emitter.h"

extern const struct emitter_ops folded_emitter;
extern const struct emitter_ops perf_script_emitter;
extern const struct emitter_ops html_emitter;
extern const struct emitter_ops pprof_emitter;
extern const struct emitter_ops speedscope_emitter;
extern const struct emitter_ops firefox_emitter;
extern const struct emitter_ops callgrind_emitter;
extern const struct emitter_ops pftrace_emitter;
extern const struct emitter_ops pstats_emitter;
extern const struct emitter_ops jsonl_emitter;
extern const struct emitter_ops svg_emitter;

#endif /* KRAIT_OUTPUT_FORMATS_H */
