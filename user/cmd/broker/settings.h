/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * settings.h - the command line of krait broker, and its file of settings: what users may do.
 */
#ifndef KRAIT_CMD_BROKER_SETTINGS_H
#define KRAIT_CMD_BROKER_SETTINGS_H

#include <linux/types.h>
#include <sys/types.h>

struct settings {
	const char *socket; /* its path */
	const char *all_socket; /* of who may see the whole machine; NULL: none */
	gid_t all_group; /* who may connect there; 0: only root */
	const char *metrics; /* a file; NULL: none */
	unsigned recordings; /* of one user at the same time */
	__u64 rate; /* of all recordings together, samples a second on each CPU */
	__u64 memory; /* of all recordings together, bytes of the kernel's: rings and tables for unwinding */
	__u64 duration_ns; /* of one recording */
	__u64 bytes; /* of each of its files */
	unsigned ptrace_scope; /* the largest kernel.yama.ptrace_scope at which it serves */
};

/* Returns 0; invalid options end the program. */
int settings_parse(struct settings *ret, int argc, char **argv);

#endif /* KRAIT_CMD_BROKER_SETTINGS_H */
