/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output.h - perf.data as an output of krait: the emitter that writes it.
 */
#ifndef KRAIT_CAPTURE_PERFDATA_OUTPUT_H
#define KRAIT_CAPTURE_PERFDATA_OUTPUT_H

#include "output/emitter.h"

extern const struct emitter_ops perf_data_emitter;

#endif /* KRAIT_CAPTURE_PERFDATA_OUTPUT_H */
