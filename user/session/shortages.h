/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shortages.h - what room ended for, whose it was, and what the user can do: one warning for each.
 */
#ifndef KRAIT_SESSION_SHORTAGES_H
#define KRAIT_SESSION_SHORTAGES_H

struct collector;
struct modules;
struct native_files;
struct processes;
struct sampler;

/* At the end of a recording, when all is counted. modules: NULL where no native frames were wanted. */
void shortages_warn(struct collector *collector, const struct processes *processes,
		    struct modules *modules, const struct sampler *sampler);

/* The same of names of native code, for which nobody pays. */
void shortages_warn_of_late_names(const struct collector *collector,
				  const struct native_files *files);

#endif /* KRAIT_SESSION_SHORTAGES_H */
