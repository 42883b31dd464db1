/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event_pmu.h - events of a named PMU, as in perf: "cpu/event=0x3c,umask=0x1/", "cpu/mem-loads/pp", "software/config=2/".
 *
 * What a PMU has, and which bits each of its fields is in, the kernel says below /sys/bus/event_source/devices.
 */
#ifndef KRAIT_BASE_SYSTEM_EVENT_PMU_H
#define KRAIT_BASE_SYSTEM_EVENT_PMU_H

#include "base/system/event.h"

#define EVENT_PMUS "/sys/bus/event_source/devices"

/*
 * Sets type and the configs of *e by the text between the name of the event's PMU and its last slash; "name=" also sets
 * its name. folder: EVENT_PMUS. Returns 0; -ENODEV: no such PMU; -EOPNOTSUPP: one of
 * tracepoints or probes; -ENOENT: it has no such event or field; -ERANGE: a
 * value does not fit; -EINVAL. Then why says what is wrong, and what there is.
 */
int event_pmu_parse(struct event_spec *e, const char *folder, const char *pmu, const char *terms,
		    char *why, size_t why_size) __attribute__((warn_unused_result));

#endif /* KRAIT_BASE_SYSTEM_EVENT_PMU_H */
