/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * processes.h - the processes that this session follows, and what is known of each.
 *
 * Which ones: all of them, or the given ones and their descendants. A followed process need not be
 * Python (yet): a shell that starts one, or an interpreter whose library is not mapped at exec. It
 * is looked at again with growing pauses until it is Python, or has gone.
 *
 * The kernel side is ahead: it knows of a fork, and of an exec of a known binary, before user space does
 * (bpf/lifecycle.bpf.c). A process that has already ended by then still gets an entry here, because its records
 * follow the event.
 *
 * Must hold: events are taken in order, so a record always finds the process that it belongs to.
 */
#ifndef KRAIT_FOLLOW_PROCESSES_H
#define KRAIT_FOLLOW_PROCESSES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "abi.h"
#include "follow/greenlet_watch.h"
#include "follow/tables.h"
#include "follow/threads.h"
#include "target/process.h"

struct context;
struct filter;
struct input_writer;
struct modules;
struct native;
struct native_files;
struct probed;
struct prober;
struct processes;
struct sampler;
struct space;
struct symbolizer;
struct record_sample;
struct record_task;

enum process_state {
	PROCESS_PENDING, /* not Python as far as we can see; to be looked at again */
	PROCESS_FORKED, /* a fork of a tracked process, not needed by any sample yet (forks.h) */
	PROCESS_TRACKED,
	PROCESS_REFUSED, /* Python, but not to be sampled: info.why says why */
	PROCESS_UNWANTED, /* Python, but not what the filter asks for */
};

struct process {
	pid_t pid;
	__u64 start_ns; /* same_start(): with the pid it says which process this is */
	enum process_state state;
	__u32 layout; /* of sampler/layouts.h, KRAIT_NO_LAYOUT: none */
	__u32 known_file; /* that it runs: of sampler/known_files.h, KNOWN_FILE_NONE */
	unsigned owner; /* who pays for what it takes up: bpf/share.h */
	pid_t parent_pid; /* whose memory it was forked with, 0 if its image is its own */
	struct py_process info;
	bool watched; /* the kernel side follows it, Python or not */
	bool told; /* the kernel side was told of it */
	bool asked; /* a look at it is under way */
	bool remapped; /* code, before it was opened */
	bool looked; /* one was, since it has executed what it does */
	bool scanned; /* with the first look: if it is not Python, it is none of ours */
	struct plain_key
		exec; /* what it executes and who began that, if the kernel has said it: inode 0 if not */
	unsigned plain_looks; /* that found no Python in it, not even one that has not begun */
	struct probed *probed; /* tracked ones have it */
	struct symbolizer *symbolizer;
	struct space *space; /* NULL where native frames are not wanted */
	struct native *native; /* names in it; NULL with it */
	__u64 node; /* the collector's tag; 0 not there yet */
	__u64 unwind_retry_ns; /* when files whose rows are missed may be read again */
	__u64 unwind_pause_ns; /* between two such looks */
	bool unwind_waits; /* there are files whose rows are still to be read */
	__u64 unwind_digest; /* of the mappings that the kernel has: unwinding.h; 0 none */
	__u32 unwind_space; /* which space of the kernel's tables that is; with a digest */
	__u64 unwind_seen; /* of the space that they were made of */
	struct space
		*unwind_ahead; /* the unwinder's: mappings that names do not know yet; NULL: none */
	__u64 unwind_named; /* of the space that names have had since then */
	void *made; /* what the unwinder keeps of code that it has made (session/made_code.h), or NULL */
	__u64 made_number; /* no other process of the recording has that one */
	__u32 image; /* no other image of the recording has that number; a fork is another one */
	__u64 main_interp_addr; /* its oldest interpreter; 0 not known (interpreters.h) */
	__u32 interp_looks; /* at others */
	__u64 *gils; /* addresses of its interpreters' locks (session/counting.c) */
	__u32 gil_cnt, gil_cap;
	struct tables tables; /* that it publishes beside its runtime */
	struct greenlet_watch greenlets; /* where they are */
	struct thread_list threads; /* that were sampled */
	__u32 attempts;
	__u64 retry_ns; /* CLOCK_MONOTONIC; when to look again, 0 never */
	__u64 reasons[REASON_CNT]; /* how its interrupts ended */
	bool exited; /* reasons are whole */
	bool offered; /* to whoever places anchors (admission.h) */
};

struct processes_config {
	bool all; /* every process of the machine; otherwise those added and their descendants */
	bool tables; /* somebody wants what processes publish (target/published.h) */
	bool greenlets; /* and where their greenlets are (target/greenlet_place.h) */
	const struct filter *filter; /* borrowed */
	struct prober *prober; /* borrowed */
	struct sampler *sampler; /* borrowed */
	struct native_files *native_files; /* borrowed; NULL: no native frames */
	struct input_writer *inputs; /* borrowed; NULL: nobody wants to replay it */
};

struct processes *processes__new(const struct processes_config *config);
/*
 * With "all": what begins is looked at later, or opened at its first sample. steps: 0 at once, 1 half a second, 2 one
 * second, and so on, to PROCESSES_SPARING_MAX; and with any of these nobody is woken up by what begins, where that can be.
 */
#define PROCESSES_SPARING_MAX 5U
void processes__spare(struct processes *ps, unsigned steps);
/*
 * With "all": while that is on, no process is looked at but for its samples' sake, and of those that are due one a second,
 * of each owner in turn; what begins wakes nobody.
 */
void processes__starve(struct processes *ps, bool on);
/* What begins is in no hurry now, for either reason. */
bool processes__spares(const struct processes *ps);
/* How many started and ended before their look was due: whether they were Python is unknown. */
__u64 processes__unseen(const struct processes *ps);
/* How much later that is. */
__u64 processes__look_delay_ns(const struct processes *ps);
/* Starts what they are looked at with, while krait has all its rights. */
void processes__prepare(struct processes *ps);
/* Before the first one is followed. */
void processes__connect(struct processes *ps, struct sampler *sampler);
void processes__free(struct processes *ps);

/* Has every process looked at; for "all". wait_ms: for those that are looked at soon. */
void processes__scan(struct processes *ps, int wait_ms);
/* Has those that are tracked looked at for what they publish beside their runtimes (tables.h), and waits for the answers. */
void processes__await_tables(struct processes *ps, int wait_ms);
/*
 * Follows one process. Result and *ret_why (valid until the next call) as py_process_identify();
 * -ENOEXEC means that it is followed but not Python now, -EINPROGRESS that it is not known yet, or
 * cannot be sampled before its debug information is read.
 */
int processes__follow(struct processes *ps, pid_t pid, const char **ret_why);

/* Takes in a process event. */
void processes__event(struct processes *ps, const struct record_task *record);
/* Takes in a mapping. */
void processes__mmap(struct processes *ps, const struct record_mmap *record);
/* One has mapped code, perf says (sampler/mmap_events.h): for whoever replays it. */
void processes__mapped(struct processes *ps, pid_t pid);
/* Takes in what looks have found, and looks again at those that are due; the time of the next one, or 0. */
__u64 processes__retry(struct processes *ps, __u64 now_ns);

/*
 * Whose the process is and where it runs; NULL where it has gone before that could be found out. With that
 * p->info has its ids.
 */
const struct context *process_context(struct process *p);

/* Of those that were tracked: whose version publishes nothing of its tasks; the version of the one that came last, 0 none. */
unsigned processes__taskless(const struct processes *ps, __u32 *ret_version);

/* All that are known; fn changes none. */
void processes__each(struct processes *ps, void (*fn)(void *ctx, const struct process *p),
		     void *ctx);
/* The tracked process of that pid, or NULL. */
struct process *processes__find(struct processes *ps, pid_t pid);

/* The same of one that has mapped code. One that nobody has needed yet is not opened for that where krait spares looks. */
struct process *processes__find_mapped(struct processes *ps, pid_t pid);

struct threads *processes__threads(struct processes *ps);

/*
 * The process of a sample: tracked, or unwanted, in which case its interrupts do not count. Looks at one that only
 * the kernel side knows. NULL if it is gone, or its pid belongs to another.
 */
struct process *processes__of_record(struct processes *ps, const struct record_sample *record);
/* Calls gone for each process that is tracked; they stay. From now on all refusals are known. */
void processes__close_books(struct processes *ps);

/* Called when a process goes, before its memory and names are dropped. */
typedef void (*process_gone_fn)(void *ctx, struct process *process);
void processes__on_gone(struct processes *ps, process_gone_fn fn, void *ctx);

/* Called when one is tracked from now on, before its first sample is seen. */
void processes__on_opened(struct processes *ps, process_gone_fn fn, void *ctx);

/* Processes that are followed now, Python or not. */
unsigned processes__followed_cnt(const struct processes *ps);
unsigned processes__tracked_cnt(const struct processes *ps);
/* Mappings of code that the kernel has reported. */
__u64 processes__mmap_cnt(const struct processes *ps);
/* How many were ever tracked. */
unsigned processes__seen_cnt(const struct processes *ps);
/* How many were Python, and not what the filter asks for. */
unsigned processes__unwanted_cnt(const struct processes *ps);
/*
 * How many that have begun since were found to be Python by a look, and not by the kernel side in their first moment.
 * The CPU time that they had used until then is not sampled.
 */
__u64 processes__late(const struct processes *ps, __u64 *ret_cpu_ns);
/* How often one of that owner's was not followed, since there were too many. */
__u64 processes__room_refused(const struct processes *ps, unsigned owner);
/* Python processes that are not sampled, so far. */
__u64 processes__refused_cnt(const struct processes *ps);
/* One line per distinct reason why Python processes were not sampled. */
void processes__print_refused(const struct processes *ps, FILE *out);

#endif /* KRAIT_FOLLOW_PROCESSES_H */
