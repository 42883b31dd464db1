/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keeper.h - what a reader asks of its keeper.
 *
 * Root's "krait report" is two processes (cmd/common/keeper_serve.h): the reader runs the command, parses
 * what others have written, and has no rights; the keeper has the caller's, parses nothing, and
 * opens, makes and renames for the reader. Without a keeper, whoever wants a file opens it himself.
 *
 * Must hold: the keeper answers a reader that an attacker controls. So it gives out for reading only
 * what the command line names, ELF files that are no core, and source files that whoever was
 * recorded could read; it writes only outputs that the command line names, and libraries beside them.
 */
#ifndef KRAIT_BASE_WORKER_KEEPER_H
#define KRAIT_BASE_WORKER_KEEPER_H

#include <limits.h>
#include <linux/types.h>
#include <stdbool.h>

enum keeper_job {
	KEEPER_IS_CAPTURE, /* does path, which is an argument, lead to one? */
	/* To open path; a descriptor is the answer. */
	KEEPER_NAMED, /* it is an argument, or named after one; number: O_PATH, or how to open it */
	KEEPER_OBJECT, /* an ELF file */
	KEEPER_KERNEL_SYMBOLS,
	KEEPER_SOURCE, /* more: the struct identity that must be able to read it; none: everybody */
	KEEPER_SOURCE_BELOW, /* likewise, in a folder that the command line names */
	KEEPER_WORKER, /* to start a worker of that role: its channel */
	/* process/parser/fetcher.h, one at a time; more: a build ID; the answer's name says why not */
	KEEPER_FETCH,
	KEEPER_FETCH_RESULT,
	KEEPER_FETCH_END,
	KEEPER_PAGER, /* what it reads */
	KEEPER_PAGER_END,
	KEEPER_BROWSER, /* shows an output that is a page */
	/* base/files/output_file.h; number: how to open it, then the answer's number */
	KEEPER_OUTPUT,
	KEEPER_OUTPUT_PUBLISH,
	KEEPER_OUTPUT_DISCARD,
	/* capture/dso/dso_store.h; number: the same; more: a build ID */
	KEEPER_STORE,
	KEEPER_STORE_PART,
	KEEPER_STORE_PART_DONE,
	KEEPER_STORE_PART_FAILED,
	KEEPER_STORE_CACHE,
	KEEPER_STORE_PUBLISH,
	KEEPER_STORE_DISCARD,
};

/* The same size, whatever it asks. */
struct keeper_request {
	__u32 job, number;
	__u32 more_size;
	__u8 more[256];
	char path[PATH_MAX], folder[PATH_MAX];
};

struct keeper_answer {
	__s32 result; /* 0 or -errno */
	__u32 number;
	char name[PATH_MAX]; /* "": none */
};

/* From now on this process is a reader, and fd the channel to its keeper. */
void keeper_set(int fd);
bool keeper_is_there(void);

/*
 * Sends the request, with the descriptor if that is not -1, and waits for the answer, however long
 * it takes. ret: may be NULL. *ret_fd (NULL: none is expected): the caller's. Returns the answer's
 * result, or -errno.
 */
int keeper_ask(const struct keeper_request *request, int fd, struct keeper_answer *ret, int *ret_fd)
	__attribute__((warn_unused_result, nonnull(1)));
/* About a path alone. */
int keeper_ask_about(enum keeper_job job, const char *path) __attribute__((nonnull));
/* For a job that opens something. Returns the descriptor or -errno. */
int keeper_open(enum keeper_job job, const char *path) __attribute__((warn_unused_result, nonnull));
/* Opens a file that the command line names, O_CLOEXEC, through the keeper if there is one. */
int keeper_open_named(const char *path, int flags) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_BASE_WORKER_KEEPER_H */
