/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parser.h - processes without rights that parse what others have written, as seen by krait.
 *
 * Parsers are forks of one starter, a worker of the role "parser" that keeps the rights to give
 * them their own id and an empty root: krait itself has dropped those by the time it samples.
 *
 * Must hold: a job ends, by its answer or with its parser: at the latest when it has used
 * PARSER_CPU_MS of processor time, has waited PARSER_IDLE_MS for anything but a processor (a file
 * on a file system that does not answer), or PARSER_WALL_MS have passed. If a parser dies, from a
 * truncated file, its limits or a defect, only the answer is lost.
 */
#ifndef KRAIT_PROCESS_PARSER_PARSER_H
#define KRAIT_PROCESS_PARSER_PARSER_H

#include <linux/types.h>
#include <sys/types.h>

#include "process/proc/file_id.h"
#include "process/parser/parser_protocol.h"

/* Reading the symbols of the largest libraries takes a second. */
#define PARSER_CPU_MS 5000U
#define PARSER_IDLE_MS 2000U
#define PARSER_WALL_MS 15000U

/*
 * At our priority: for jobs that are short, unless whoever wrote the file made them long; and for
 * the rows of the largest libraries, which take 0.1 to 0.2 s. The caller of the latter limits how
 * much of this each owner of files gets.
 */
#define PARSER_SHORT_USEC 20000U
#define PARSER_LONG_USEC 250000U

struct parsers;
struct parser;

/* NULL: out of memory. */
struct parsers *parsers__new(void) __attribute__((warn_unused_result));
/* Starts the starter, while krait still has all its rights. Otherwise the first parser starts it. */
void parsers__prepare(struct parsers *p) __attribute__((nonnull));
/* Sets a function to call while waiting for the start of a parser. */
void parsers__on_wait(struct parsers *p, void (*fn)(void *ctx), void *ctx)
	__attribute__((nonnull(1)));
/*
 * The tap gets every answer from then on, before the requester does. file: that of the first
 * descriptor that came with the request, or with the one that opened it; has_debug: there was a
 * second. answer: NULL if there is none.
 */
struct parse_tapped {
	const struct parser_request *request;
	struct file_id file;
	bool has_debug;
	int result;
	__u64 took_ns;
	const struct parser_answer *answer;
};
typedef void (*parse_tap_fn)(void *ctx, const struct parse_tapped *tapped);
void parsers__tap(struct parsers *p, parse_tap_fn fn, void *ctx) __attribute__((nonnull(1)));
/* Ends all that are left. NULL: does nothing. */
void parsers__free(struct parsers *p);

/* NULL and errno if none can be started. */
struct parser *parser__start(struct parsers *p) __attribute__((warn_unused_result, nonnull));
/*
 * The same, for jobs that others wait for: it runs at our priority, until a job has taken usec of
 * processor time, and at an ordinary one from then on.
 */
struct parser *parser__start_urgent(struct parsers *p, unsigned usec)
	__attribute__((warn_unused_result, nonnull));
/* Does it still run at a priority above the ordinary? */
bool parser__is_urgent(const struct parser *p) __attribute__((nonnull));
/* Ends it, whatever it is doing. NULL: does nothing. */
void parser__end(struct parser *p);

/* Processor time used so far. */
__u64 parser__cpu_ns(const struct parser *p) __attribute__((nonnull));
/* How long its job was seen waiting for anything but a processor. */
__u64 parser__idle_ns(const struct parser *p) __attribute__((nonnull));
pid_t parser__pid(const struct parser *p) __attribute__((nonnull));

/*
 * Hands it a job; the caller keeps the descriptors. One job at a time. Returns 0; -EPIPE: it is
 * dead, or -errno.
 */
int parser__ask(struct parser *p, const struct parser_request *request, const int *fds,
		unsigned fd_cnt) __attribute__((warn_unused_result, nonnull(1, 2)));

/*
 * The answer, valid until the next job; wait_ms: how long to wait for it.
 *  0             *ret is filled, and well-formed
 *  -EINPROGRESS  not yet
 *  -ETIMEDOUT    it has taken too long: end the parser
 *  -EPIPE        it has died
 *  -EPROTO       the answer is malformed: end the parser
 */
int parser__answer(struct parser *p, unsigned wait_ms, const struct parser_answer **ret)
	__attribute__((warn_unused_result, nonnull));

/* Is it waiting for anything other than a processor? It reads files, and they may hang. */
bool parser__is_waiting(const struct parser *p) __attribute__((nonnull));

/* Other limits than the usual ones, for the running job. */
void parser__set_limits(struct parser *p, unsigned cpu_ms, unsigned wall_ms)
	__attribute__((nonnull));

#endif /* KRAIT_PROCESS_PARSER_PARSER_H */
