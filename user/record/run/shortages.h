/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shortages.h - says where room ran out, whose it was, and what the user can do: one warning each.
 */
#ifndef KRAIT_RECORD_RUN_SHORTAGES_H
#define KRAIT_RECORD_RUN_SHORTAGES_H

struct collector;
struct modules;
struct native_files;
struct processes;
struct sampler;

/* At the end of a recording, with all counts final. modules: NULL if native frames were not wanted. */
void shortages_warn(struct collector *collector, const struct processes *processes,
		    struct modules *modules, const struct sampler *sampler);

/* The same for native names, which are on nobody's account. */
void shortages_warn_of_late_names(const struct collector *collector,
				  const struct native_files *files);

#endif /* KRAIT_RECORD_RUN_SHORTAGES_H */
