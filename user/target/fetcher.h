/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fetcher.h - debug information of a build from a debuginfod server.
 *
 * Asked only where DEBUGINFOD_URLS says so and krait was not started with rights that its starter does
 * not have (AT_SECURE: then the environment is the starter's, not krait's). A worker of the role
 * "fetcher" speaks to the servers: it has the network, reads what that takes (how names are resolved,
 * certificates, libraries), and writes to one descriptor. What it has fetched is a file like any other:
 * only a parser looks into it.
 *
 * Answers are kept where debuginfod's own client keeps them (DEBUGINFOD_CACHE_PATH, or
 * ~/.cache/debuginfod_client): the fetcher gets a new file there to write to, which gets its name when
 * it is whole.
 *
 * Must hold: nothing here waits. libcurl is loaded at run time, by the fetcher only.
 */
#ifndef KRAIT_TARGET_FETCHER_H
#define KRAIT_TARGET_FETCHER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct fetch;

/* Is there anybody to ask? */
bool fetch_has_servers(void);
/* NULL: there is nobody to ask, or no process; why says so. */
struct fetch *fetch__start(const __u8 *build_id, __u32 build_id_len, char *why, size_t why_size)
	__attribute__((warn_unused_result, nonnull));

/*
 *  0             *ret_fd is the file, now the caller's
 *  -EINPROGRESS  not yet
 *  -ENOENT       no server has it; why says so
 *  -ETIMEDOUT    it takes more than a minute; why says so
 */
int fetch__result(struct fetch *f, int *ret_fd, char *why, size_t why_size)
	__attribute__((warn_unused_result, nonnull));

/* Ends it. NULL: nothing. */
void fetch__end(struct fetch *f);

#endif /* KRAIT_TARGET_FETCHER_H */
