/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * processes.h - the processes that this session follows, and what it knows about each.
 *
 * It follows all of them, or the given ones and their descendants. A followed process need not be
 * Python (yet): it may be a shell that starts Python, or an interpreter whose library is not mapped
 * at exec. It is looked at again with growing pauses until it is Python, or has gone.
 *
 * The kernel side is ahead: it knows about a fork, and about an exec of a known binary, before user
 * space does (bpf/lifecycle.bpf.c). A process that has already ended by then still gets an entry
 * here, because its records follow the event.
 *
 * Must hold: events are taken in order, so a record always finds its process.
 */
#ifndef KRAIT_RECORD_FOLLOW_PROCESSES_H
#define KRAIT_RECORD_FOLLOW_PROCESSES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "record/follow/greenlet_watch.h"
#include "record/follow/name_watch.h"
#include "record/follow/tables.h"
#include "record/follow/threads.h"
#include "process/proc/context.h"
#include "process/identify/py_process.h"

struct filter;
struct input_writer;
struct modules;
struct native;
struct native_files;
struct probed;
struct prober;
struct processes;
struct refusals;
struct sampler;
struct space;
struct symbolizer;
struct record_sample;
struct record_task;

enum process_state {
	PROCESS_PENDING, /* not Python as far as we know; will be looked at again */
	PROCESS_FORKED, /* a fork of a tracked process, not needed by any sample yet (forks.h) */
	PROCESS_TRACKED,
	PROCESS_REFUSED, /* Python, but not to be sampled: info.why says why */
	PROCESS_UNWANTED, /* Python, but excluded by the filter */
};

/*
 * The program that a process executes, which its forks share until they execute another one: what
 * it is called does not depend on which of them is asked, nor on what they are by then.
 */
struct program {
	unsigned users;
	/* who has executed it, and what that process's image is then; 0: not yet opened */
	pid_t pid;
	__u32 image;
	bool known;
	struct context context; /* valid once known: of one of them */
};

struct process {
	pid_t pid;
	__u64 start_ns; /* same_start(): identifies the process together with the pid */
	enum process_state state;
	__u32 layout; /* of kernel/maps/layouts.h; KRAIT_NO_LAYOUT: none */
	/* the one that it runs, of kernel/maps/known_files.h; KNOWN_FILE_NONE: none */
	__u32 known_file;
	unsigned owner; /* who pays for what it uses: bpf/share.h */
	pid_t parent_pid; /* the parent whose memory it was forked with; 0: its image is its own */
	struct py_process info;
	struct program *program; /* set for tracked ones */
	struct context context; /* for process_context(), of a fork */
	bool watched; /* the kernel side follows it, Python or not */
	bool unheard; /* nothing will report its end: no room for it there, or none for that event */
	bool was_ended; /* when processes__note_ended() looked */
	bool told; /* the kernel side knows about it */
	bool asked; /* a look is pending */
	bool remapped; /* it mapped code before it was opened */
	bool looked; /* it has been looked at since its last exec */
	bool scanned; /* being scanned with the first look: if it is not Python, drop it */
	/* the executable and who started it, if the kernel reported it; else inode 0 */
	struct plain_key exec;
	unsigned plain_looks; /* looks that found no Python in it, not even an uninitialised one */
	struct probed *probed; /* set for tracked ones */
	struct symbolizer *symbolizer;
	struct space *space; /* NULL: native frames are not wanted */
	struct native *native; /* names in space; NULL with it */
	/* what the session keeps for it while it is tracked (processes__make_room()); else NULL */
	struct process_own *own;
	struct unwound *unwound; /* what the unwinder keeps for it, until it goes; NULL: nothing */
	__u32 image; /* unique for each image in the recording; a fork has its own */
	struct tables tables; /* that it publishes besides its runtime */
	struct greenlet_watch greenlets; /* where they are */
	struct name_watch names; /* of its threads */
	struct thread_list threads; /* those sampled so far */
	__u32 attempts;
	__u64 retry_ns; /* CLOCK_MONOTONIC: when to look again; 0: never */
	bool exited;
	__u64 dropped; /* once it has exited: its records that found no room in the ring buffer */
};

struct processes_config {
	bool all; /* every process of the machine; else those added and their descendants */
	bool tables; /* look for what processes publish (python/layout/published.h) */
	bool greenlets; /* look for their greenlets (process/identify/greenlet_place.h) */
	const struct filter *filter; /* borrowed */
	struct prober *prober; /* borrowed */
	struct sampler *sampler; /* borrowed */
	struct native_files *native_files; /* borrowed; NULL: no native frames */
	struct input_writer *inputs; /* borrowed; NULL: inputs are not logged */
};

struct processes *processes__new(const struct processes_config *config);
/*
 * With "all": new processes are looked at later, or opened at their first sample. steps: 0: at
 * once, 1: half a second, 2: one second, and so on, up to PROCESSES_SPARING_MAX. With any of these,
 * new processes wake nobody, if that can be arranged.
 */
#define PROCESSES_SPARING_MAX 5U
void processes__spare(struct processes *ps, unsigned steps);
/*
 * With "all": while on, a process is looked at only because of its samples, plus one due process a
 * second, taking owners in turn. New processes wake nobody.
 */
void processes__starve(struct processes *ps, bool on);
/*
 * Is nothing about new processes urgent now, for either reason? Never with a filter. With native
 * frames, which need the mappings before the first sample, only from the second step of sparing on.
 */
bool processes__spares(const struct processes *ps);
/* Processes that started and ended before their look was due: whether they were Python is unknown. */
__u64 processes__unseen(const struct processes *ps);
/* How much later looks come now. */
__u64 processes__look_delay_ns(const struct processes *ps);
/* Starts the probers, while krait still has all its rights. */
void processes__prepare(struct processes *ps);
/* Call before the first process is followed. */
void processes__connect(struct processes *ps, struct sampler *sampler);
/*
 * Sizes of what the session keeps for each tracked process and each thread: their "own", all zero at
 * first. Call before the first process is followed.
 */
void processes__make_room(struct processes *ps, size_t process_size, size_t thread_size);
void processes__free(struct processes *ps);

/* Looks at every process; for "all". wait_ms: how long to wait for quick answers. */
void processes__scan(struct processes *ps, int wait_ms);
/*
 * Searches the tracked processes for what they publish besides their runtimes (tables.h), and waits
 * for the answers.
 */
void processes__await_tables(struct processes *ps, int wait_ms);
/*
 * Follows one process. Result and *ret_why (valid until the next call) as py_process_identify_fds();
 * -ENOEXEC: it is followed but not Python now, -EINPROGRESS: unknown yet, or its debug information
 * must be read before it can be sampled.
 */
int processes__follow(struct processes *ps, pid_t pid, const char **ret_why);

/* Are samples of threads with that file system id wanted? */
bool processes__wants_user(const struct processes *ps, uid_t uid);

/* Takes in a process event. */
void processes__event(struct processes *ps, const struct record_task *record);
/* Takes in a mapping. */
void processes__mmap(struct processes *ps, const struct record_mmap *record);
/*
 * perf reports mappings (kernel/sampler/mmap_events.h), where the sampler does not: all of them come through
 * processes__mapped().
 */
void processes__hear_perf(struct processes *ps);
/* perf reports that this process has mapped code; 0: any process may have. */
void processes__mapped(struct processes *ps, pid_t pid);
/* Takes in the results of looks, and begins due ones. Returns when the next one is due, or 0. */
__u64 processes__retry(struct processes *ps, __u64 now_ns);

/*
 * What the process runs, whose it is and where; NULL if it went before that was known. Then p->info
 * has its ids, too. A fork runs what its parent does.
 */
const struct context *process_context(struct process *p);
/* The image that it must have for anything of it to be read. */
struct probe_image process_image(const struct process *p);

/*
 * Tracked processes whose version publishes nothing about its tasks; and the version of the last
 * one, 0: none.
 */
unsigned processes__taskless(const struct processes *ps, __u32 *ret_version);

/* Calls fn for all of them; fn must not change any. */
void processes__each(struct processes *ps, void (*fn)(void *ctx, const struct process *p),
		     void *ctx);
/* The tracked process with that pid, or NULL. */
struct process *processes__find(struct processes *ps, pid_t pid);

/*
 * The same for one that has mapped code. While krait spares looks, a process that nobody has needed
 * yet is not opened for this.
 */
struct process *processes__find_mapped(struct processes *ps, pid_t pid);

/* What names of an owner's processes (bpf/share.h) may cost, and have cost. */
struct name_share *processes__names(struct processes *ps, unsigned owner);
/* Its owner is another one now: it has changed its user. */
void processes__charge(struct processes *ps, struct process *p, unsigned owner);

struct threads *processes__threads(struct processes *ps);
/* At the end: learns the last names of threads, as far as that is possible in this time. */
void processes__finish_names(struct processes *ps, int wait_ms);

/*
 * The process of a sample: tracked, or unwanted, in which case its interrupts do not count. Looks
 * at one that only the kernel side knows. NULL if it is gone, or its pid belongs to another.
 */
struct process *processes__of_record(struct processes *ps, const struct record_sample *record);
/* Calls gone for each tracked process, without removing it. From now on all refusals are known. */
void processes__close_books(struct processes *ps);

/* Called when a process goes, before its memory and names are dropped. */
typedef void (*process_gone_fn)(void *ctx, struct process *process);
void processes__on_gone(struct processes *ps, process_gone_fn fn, void *ctx);

/* Called when the program has named a thread, or given it another name: thread->given. */
void processes__on_renamed(struct processes *ps, thread_gone_fn fn, void *ctx);

/*
 * Called when a process becomes tracked, before its first sample is seen. parent: of a fork, the
 * process whose memory it has; or NULL.
 */
typedef void (*process_opened_fn)(void *ctx, struct process *process, const struct process *parent);
void processes__on_opened(struct processes *ps, process_opened_fn fn, void *ctx);

/* Processes currently followed, Python or not, whose end will be reported. */
unsigned processes__followed_cnt(const struct processes *ps);
/*
 * Events were dropped, perhaps of ends: who has ended is followed no longer, but the records still name it. Looks no
 * further than the first that runs.
 */
void processes__note_ended(struct processes *ps);
unsigned processes__tracked_cnt(const struct processes *ps);
/* Mappings of code that the kernel has reported. */
__u64 processes__mmap_cnt(const struct processes *ps);
/* Processes ever tracked. */
unsigned processes__seen_cnt(const struct processes *ps);
/* Python processes excluded by the filter. */
unsigned processes__unwanted_cnt(const struct processes *ps);
/*
 * Processes started after us that a look, and not the kernel side in their first moment, found to
 * be Python. Their CPU time until then (*ret_cpu_ns) was not sampled.
 */
__u64 processes__late(const struct processes *ps, __u64 *ret_cpu_ns);
/* How often a process of that owner was not followed because there were too many. */
__u64 processes__room_refused(const struct processes *ps, unsigned owner);
/* Python processes not sampled so far, and why. */
const struct refusals *processes__refusals(const struct processes *ps);

#endif /* KRAIT_RECORD_FOLLOW_PROCESSES_H */
