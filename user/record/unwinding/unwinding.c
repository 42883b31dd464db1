/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/unwinding/unwinding.h"

#include <stdlib.h>

#include "record/follow/processes.h"
#include "kernel/sampler/sampler.h"
#include "process/space/modules.h"
#include "record/unwinding/made_code.h"
#include "record/unwinding/unwind_again.h"
#include "record/unwinding/unwind_files.h"
#include "record/unwinding/unwind_settle.h"
#include "record/unwinding/unwind_spaces.h"
#include "native/names/native.h"
#include "native/rows/tables.h"
#include "base/system/clock.h"
#include "base/data/hash.h"
#include "base/text/log.h"
#include "base/share/quota.h"
#include "base/data/vec.h"

/*
 * Between two looks at the files of a process whose rows are missed: the shortest pause, and the
 * longest after looks without a result.
 */
#define RETRY_NS 2000000ULL
#define RETRY_RARE_NS 200000000ULL

/*
 * At the start of a recording, no more rows are requested after this time, which one process hardly
 * ever needs: fourteen large wheels take half of it. The rest is read while sampling goes on, what
 * is missed first.
 */
#define START_PATIENCE_NS 1000000000ULL
/* The same per step later on, since records wait meanwhile. */
#define STEP_PATIENCE_NS 20000000ULL
/*
 * Pause before asking again for files of a process that could not be read: the first, and the longest, times the number
 * of processes that wait. It is the process's own: others that cannot be served do not delay a newcomer.
 */
#define AGAIN_NS 2000000ULL
#define AGAIN_RARE_NS 1000000000ULL

struct unwinding {
	struct sampler *sampler;
	struct unwind_tables *tables;
	struct unwind_files *files;
	struct quota *made_words;
	struct native_files *native_files; /* borrowed */
	__u64 made_cnt; /* processes with generated code so far */
	struct unwind_spaces *spaces;
	struct unwind_again again;
	struct process **waiting; /* processes whose files' rows are yet to be read */
	unsigned waiting_cnt, waiting_cap;
	struct process **posted; /* processes with posts, in order */
	unsigned posted_cnt, posted_cap;
	bool started;
	bool late; /* read rows only once they are missed */
	bool starving; /* unwinding__starve() */
	__u64 read_cnt; /* files that are settled */
	__u64 waited_ns; /* time spent waiting for rows before the start */
};

/* In a process's posts: it is in the list. */
#define POSTED (1U << 31)

/* What is kept for a process, from its first mappings to unwinding__forget(). */
struct unwound {
	__u64 digest; /* of the mappings that the kernel has; 0: none */
	__u32 space; /* the number of these in the kernel's tables; valid with a digest */
	bool waits; /* some of its files' rows have not been read yet */
	__u64 step_ns, again_ns; /* when to ask for them; the last pause before that, 0: none */
	unsigned posts; /* enum unwinding_post, and POSTED if there are any */
	__u64 posted_ns; /* time of the last sample that posted some */
	__u64 seen; /* of the space that they were made from */
	struct space *ahead; /* mappings that names do not know yet; NULL: none */
	__u64 named; /* of the space that names have used since then */
	__u64 retry_ns; /* when files whose rows are missed may be read again */
	__u64 pause_ns; /* pause between two such looks */
	struct made_code *made; /* its generated code; NULL: none */
	__u64 made_number; /* unique in the recording, if it has generated code */
};

struct unwinding *unwinding__new(struct sampler *sampler, struct native_files *native_files)
{
	struct unwinding *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->sampler = sampler;
	u->tables = sampler__parts(sampler)->tables;
	unwind_again_begin(&u->again, clock_monotonic_ns());
	u->native_files = native_files;
	u->files = unwind_files__new(u->tables);
	u->made_words = quota__new(MADE_WORDS_MAX, MADE_WORDS_MAX / 8);
	if (u->files)
		u->spaces = unwind_spaces__new(u->tables, u->files);
	if (u->spaces && u->made_words)
		return u;
	unwinding__free(u);
	return NULL;
}

void unwinding__free(struct unwinding *u)
{
	if (!u)
		return;
	unwind_spaces__free(u->spaces);
	unwind_files__free(u->files);
	quota__free(u->made_words);
	free(u->waiting);
	free(u->posted);
	free(u);
}

/* Does the process have native stacks, and memory for them? */
static bool unwound_begin(struct process *p)
{
	if (!p->native || !p->space)
		return false;
	if (!p->unwound)
		p->unwound = calloc(1, sizeof(*p->unwound));
	return p->unwound;
}

/*
 * The mappings that its rows belong to. Mappings reported ahead of pending records (mmap_events.h)
 * do not go into the process's space, because the frames of those records must still be named by
 * it.
 */
static struct space *view_of(const struct process *p)
{
	return p->unwound->ahead ? p->unwound->ahead : p->space;
}

/* ---- processes that wait for rows --------------------------------------------------------------- */

/* The others keep their order: with the last one in its place, two that wait again and again would pass by a third. */
static void take_out(struct process **list, unsigned *cnt, const struct process *p)
{
	for (unsigned i = 0; i < *cnt; i++) {
		if (list[i] != p)
			continue;
		--*cnt;
		memmove(&list[i], &list[i + 1], (*cnt - i) * sizeof(*list));
		return;
	}
}

static void stop_waiting(struct unwinding *u, struct process *p)
{
	if (p->unwound->waits)
		take_out(u->waiting, &u->waiting_cnt, p);
	p->unwound->waits = false;
}

/* Without memory for this, its rows are read once they are missed. */
static void wait_for_rows(struct unwinding *u, struct process *p)
{
	if (p->unwound->waits || vec_reserve(u->waiting, u->waiting_cap, u->waiting_cnt + 1))
		return;
	u->waiting[u->waiting_cnt++] = p;
	p->unwound->waits = true;
}

static bool settle(struct unwinding *u, __u32 number, struct process *p, const struct mapping *m,
		   __u64 now_ns)
{
	bool again = unwind_tables__is_dropped(u->tables, number), settled;
	unsigned owner = unwind_tables__owner(u->tables, number), payer;
	__u64 begin_ns = clock_monotonic_ns();
	uid_t uid;

	if (!unwind_again_may_read(&u->again, u->tables, number, begin_ns))
		return false;
	uid = module__inode(m->module) ? native__file_payer(p->native, m, now_ns) : 0;
	payer = owner_find(&sampler__parts(u->sampler)->books->table, uid);
	if (uid && payer != OWNER_UNKNOWN)
		unwind_files__set_payer(u->files, number, payer);
	settled = unwind_settle(u->tables, number, p, m, now_ns);
	if (again)
		unwind_again_note(&u->again, owner, clock_monotonic_ns() - begin_ns);
	u->read_cnt += settled;
	return settled;
}

/*
 * Reads rows of those of its files that have none yet, until until_ns (CLOCK_MONOTONIC). True: some
 * have rows now. The rest waits.
 */
static bool settle_files(struct unwinding *u, struct process *p, __u64 now_ns, __u64 until_ns)
{
	bool some = false, left = false;
	const struct mapping *list;
	unsigned cnt;

	list = space__mappings(view_of(p), &cnt);
	for (int turn = 0; turn < UNWIND_TURNS; turn++) {
		for (unsigned i = 0; i < cnt; i++) {
			__u32 number;

			if ((u->late && turn) || unwind_turn(&list[i]) != turn)
				continue;
			number = unwind_file_of(u->files, &list[i]);
			if (unwind_is_settled(u->tables, number))
				continue;
			if (clock_monotonic_ns() >= until_ns) {
				wait_for_rows(u, p);
				return true;
			}
			if (settle(u, number, p, &list[i], now_ns))
				some = true;
			else
				left = true;
		}
	}
	if (left || space__is_outdated(view_of(p)))
		wait_for_rows(u, p);
	else
		stop_waiting(u, p);
	return some;
}

static void settle_now(struct unwinding *u, struct process *p, __u64 now_ns)
{
	__u64 begin_ns = clock_monotonic_ns(), patience_ns = STEP_PATIENCE_NS;

	if (u->starving) {
		wait_for_rows(u, p);
		return;
	}
	if (!u->started)
		patience_ns = START_PATIENCE_NS - u->waited_ns;
	settle_files(u, p, now_ns, begin_ns + patience_ns);
	if (u->started)
		return;
	u->waited_ns += clock_monotonic_ns() - begin_ns;
	if (u->waited_ns > START_PATIENCE_NS)
		u->waited_ns = START_PATIENCE_NS;
}

/* ---- code that was made ----------------------------------------------------------------------- */

static bool has_made_code(const struct process *p)
{
	const struct mapping *list;
	unsigned cnt;

	list = space__mappings(view_of(p), &cnt);
	for (unsigned i = 0; i < cnt; i++)
		if (made_code_is(&list[i]))
			return true;
	return false;
}

/* True: its numbers have changed. */
static bool look_at_made_code(struct unwinding *u, struct process *p, bool mapped, __u64 now_ns)
{
	const struct made_code_tools tools = { u->tables, u->files, u->native_files,
					       u->made_words };

	if (!p->unwound->made && has_made_code(p)) {
		p->unwound->made = made_code__new(&tools);
		p->unwound->made_number = ++u->made_cnt;
	}
	return p->unwound->made && made_code__look(p->unwound->made, p, view_of(p), mapped, now_ns);
}

/* Of the mappings as the kernel has them. With generated code they are unique to the process. */
static __u64 digest_of(const struct process *p)
{
	__u64 digest = space__digest(view_of(p));
	__u64 generation = p->unwound->made ? made_code__generation(p->unwound->made) : 0;

	if (!generation)
		return digest;
	return hash_step(hash_step(hash_step(0, digest), p->unwound->made_number), generation) | 1;
}

/* ---- processes -------------------------------------------------------------------------------- */

/* False: no room. */
static bool give_mappings(struct unwinding *u, struct process *p)
{
	__u64 digest = digest_of(p);
	__u32 space =
		unwind_spaces__acquire(u->spaces, digest, view_of(p), p->unwound->made, p->owner);

	if (!space)
		return false;
	if (sampler__set_space(u->sampler, p->pid, p->start_ns, space))
		log_debug("unwind", "%d has no native stacks", p->pid);
	if (p->unwound->digest)
		unwind_spaces__release(u->spaces, p->unwound->digest);
	p->unwound->digest = digest;
	p->unwound->space = space;
	return true;
}

void unwinding__read_late(struct unwinding *u)
{
	u->late = true;
}

void unwinding__starve(struct unwinding *u, bool on)
{
	u->starving = on;
}

struct unwind_tables *unwinding__tables(const struct unwinding *u)
{
	return u->tables;
}

bool unwinding__waits(const struct unwinding *u)
{
	return u->waiting_cnt;
}

/* Reads mappings that were reported ahead, if it is time. */
static void read_ahead(struct process *p, __u64 now_ns)
{
	struct space *ahead = p->unwound->ahead;

	if (ahead && space__is_outdated(ahead) &&
	    now_ns >= space__read_ns(ahead) + NATIVE_OUTDATED_NS &&
	    space__may_read(ahead, now_ns) && space__read(ahead, now_ns) < 0)
		log_debug("unwind", "the mappings of %d cannot be read", p->pid);
}

static void forget_ahead(struct process *p)
{
	space__free(p->unwound->ahead);
	p->unwound->ahead = NULL;
}

/*
 * Names were looked up in other mappings than before: those that were reported ahead have arrived,
 * or there are more.
 */
static void compare_ahead(struct process *p)
{
	__u64 digest = space__digest(p->space);

	if (!p->unwound->ahead || digest == p->unwound->named)
		return;
	p->unwound->named = digest;
	if (space__digest(p->unwound->ahead) == digest)
		forget_ahead(p);
	else
		space__outdate(p->unwound->ahead);
}

static void update(struct unwinding *u, struct process *p, __u64 now_ns)
{
	read_ahead(p, now_ns);
	if (space__digest(view_of(p)) == p->unwound->seen)
		return;
	if (!give_mappings(u, p))
		return;
	p->unwound->seen = space__digest(view_of(p));
	p->unwound->pause_ns = 0;
	p->unwound->step_ns = p->unwound->again_ns = 0;
	/* Each file is useful as soon as it has been read: the mappings are in place. */
	settle_now(u, p, now_ns);
	if (look_at_made_code(u, p, true, now_ns))
		give_mappings(u, p);
}

void unwinding__update(struct unwinding *u, struct process *p, __u64 now_ns)
{
	if (!unwound_begin(p))
		return;
	native__catch_up(p->native, now_ns);
	compare_ahead(p);
	update(u, p, now_ns);
}

void unwinding__mapped(struct unwinding *u, struct process *p, __u64 now_ns)
{
	if (p->state != PROCESS_TRACKED || !unwound_begin(p))
		return;
	if (!p->unwound->ahead) {
		p->unwound->ahead = space__fork(p->space, space__probed(p->space), p->pid);
		p->unwound->named = space__digest(p->space);
	}
	if (!p->unwound->ahead)
		return;
	space__outdate(p->unwound->ahead);
	update(u, p, now_ns);
	if (space__is_outdated(p->unwound->ahead))
		wait_for_rows(u, p);
}

/* ---- posts ------------------------------------------------------------------------------------ */

/* Reads the rows that a walk has missed. */
static void read_missed(struct unwinding *u, struct process *p, __u64 now_ns)
{
	const struct mapping *list;
	bool found = false;
	unsigned cnt;

	if (u->starving || (now_ns < p->unwound->retry_ns && !u->late))
		return;
	list = space__mappings(view_of(p), &cnt);
	for (unsigned i = 0; i < cnt; i++) {
		__u32 number = unwind_file_of(u->files, &list[i]);

		if (unwind_is_missed(u->tables, number))
			found |= settle(u, number, p, &list[i], now_ns);
	}
	/* Less often, the longer it has no result. */
	p->unwound->pause_ns = found ? RETRY_NS : 2 * p->unwound->pause_ns;
	if (p->unwound->pause_ns < RETRY_NS)
		p->unwound->pause_ns = RETRY_NS;
	if (p->unwound->pause_ns > RETRY_RARE_NS)
		p->unwound->pause_ns = RETRY_RARE_NS;
	p->unwound->retry_ns = now_ns + p->unwound->pause_ns;
	/* It may have been read while a mapping was moved (mremap() is not reported): look again. */
	if (!found && p->unwound->ahead) {
		space__outdate(p->unwound->ahead);
		update(u, p, now_ns);
	}
}

void unwinding__post(struct unwinding *u, struct process *p, unsigned posts, __u64 time_ns)
{
	if (!unwound_begin(p))
		return;
	/* Without memory for this, the next sample posts it again. */
	if (!p->unwound->posts) {
		if (vec_reserve(u->posted, u->posted_cap, u->posted_cnt + 1))
			return;
		u->posted[u->posted_cnt++] = p;
	}
	p->unwound->posts |= posts | POSTED;
	p->unwound->posted_ns = time_ns;
}

/* For a moment at most; the rest is for the next step. */
static void act_on_posts(struct unwinding *u)
{
	__u64 until_ns = clock_monotonic_ns() + STEP_PATIENCE_NS;
	unsigned done = 0;

	while (done < u->posted_cnt) {
		struct process *p = u->posted[done++];
		unsigned posts = p->unwound->posts;
		__u64 now_ns = p->unwound->posted_ns;

		/* The sample was named by mappings that were read no earlier than it was taken. */
		p->unwound->posts = 0;
		compare_ahead(p);
		update(u, p, now_ns);
		if (posts & UNWINDING_MISSED)
			read_missed(u, p, now_ns);
		if (posts & UNWINDING_MISSED_MADE && look_at_made_code(u, p, false, now_ns))
			give_mappings(u, p);
		if (posts != POSTED && clock_monotonic_ns() >= until_ns)
			break;
	}
	if (!done)
		return;
	u->posted_cnt -= done;
	memmove(u->posted, u->posted + done, u->posted_cnt * sizeof(u->posted[0]));
}

__u64 unwinding__read_cnt(struct unwinding *u)
{
	act_on_posts(u);
	return u->read_cnt;
}

/* The first that waits and is due; without one, the one that is due next. NULL: none waits. */
static struct process *next_waiting(const struct unwinding *u, __u64 now_ns)
{
	struct process *next = NULL;

	for (unsigned i = 0; i < u->waiting_cnt; i++) {
		struct process *p = u->waiting[i];

		if (p->unwound->step_ns <= now_ns)
			return p;
		if (!next || p->unwound->step_ns < next->unwound->step_ns)
			next = p;
	}
	return next;
}

/* Asks for rows of that process. */
static void ask(struct unwinding *u, struct process *p, __u64 now_ns)
{
	const __u64 rare_ns = AGAIN_RARE_NS * u->waiting_cnt;
	struct unwound *w = p->unwound;
	bool some = false;

	/* Take turns: it comes last if it must wait again. */
	stop_waiting(u, p);
	update(u, p, now_ns);
	if (w->digest)
		some = settle_files(u, p, now_ns, clock_monotonic_ns() + STEP_PATIENCE_NS);
	w->again_ns = some ? 0 : w->again_ns ? 2 * w->again_ns : AGAIN_NS;
	if (w->again_ns > rare_ns)
		w->again_ns = rare_ns;
	w->step_ns = now_ns + w->again_ns;
}

__u64 unwinding__step(struct unwinding *u, __u64 now_ns)
{
	struct process *p;

	act_on_posts(u);
	if (u->posted_cnt)
		return now_ns;
	p = u->starving ? NULL : next_waiting(u, now_ns);
	if (p && p->unwound->step_ns <= now_ns) {
		ask(u, p, now_ns);
		p = next_waiting(u, now_ns);
	}
	return p ? p->unwound->step_ns : 0;
}

void unwinding__started(struct unwinding *u)
{
	u->started = true;
}

void unwinding__forget(struct unwinding *u, struct process *p)
{
	if (!p->unwound)
		return;
	stop_waiting(u, p);
	if (p->unwound->posts)
		take_out(u->posted, &u->posted_cnt, p);
	if (p->unwound->digest)
		unwind_spaces__release(u->spaces, p->unwound->digest);
	made_code__free(p->unwound->made);
	space__free(p->unwound->ahead);
	free(p->unwound);
	p->unwound = NULL;
}

bool unwinding_space(const struct process *p, __u32 *ret)
{
	if (!p->unwound || !p->unwound->digest)
		return false;
	*ret = p->unwound->space;
	return true;
}
