/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fetcher.h - gets the debug information of a build from a debuginfod server.
 *
 * Asks only if DEBUGINFOD_URLS says so and krait was not started with rights that its starter lacks
 * (AT_SECURE: then the environment is the starter's, not krait's). A worker of the role "fetcher"
 * talks to the servers: it has the network, may read what that takes (name resolution,
 * certificates, libraries), and writes to one descriptor. What it has fetched is a file like any
 * other: only a parser looks into it.
 *
 * Answers are kept where debuginfod's own client keeps them (DEBUGINFOD_CACHE_PATH, or
 * ~/.cache/debuginfod_client): the fetcher writes to a new file there, which gets its final name
 * when it is complete.
 *
 * Must hold: nothing here waits. Only the fetcher loads libcurl, at run time.
 */
#ifndef KRAIT_PROCESS_PARSER_FETCHER_H
#define KRAIT_PROCESS_PARSER_FETCHER_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

struct fetch;

/* Is any server configured? */
bool fetch_has_servers(void);
/* NULL: no server, or no process; why says which. */
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

/* Ends it. NULL: does nothing. */
void fetch__end(struct fetch *f);

#endif /* KRAIT_PROCESS_PARSER_FETCHER_H */
