/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/residence.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "bpf/fault.h"
#include "bpf/share.h"
#include "base/data/cleanup.h"
#include "base/data/compare.h"
#include "base/data/vec.h"
#include "base/data/search.h"
#include "base/share/quota.h"
#include "base/system/clock.h"
#include "process/probe/probed.h"
#include "profile/marks.h"
#include "profile/profile.h"
#include "record/follow/processes.h"
#include "record/follow/threads.h"
#include "record/samples/collector.h"
#include "record/samples/own.h"

/* Between two rounds, and how many times as long as a round the pause is at least. */
#define ROUND_NS NS_PER_SEC
#define REST 100
/* A round ends after that time; an owner whose processes took a part of it waits for the others'. */
#define ROUND_MAX_NS (2 * NS_PER_SEC)
#define OWNER_PART 4
/* Notes of one process, before they are sorted and all but the last of each page go. */
#define NOTES_MAX (1U << 20)
/* Threads that have faulted, living or not, divided among owners; of one process; and as many processes more. */
#define TOUCHERS_MAX (1U << 18)
#define PROCESS_TOUCHERS_MAX (1U << 14)

/* Who faulted: a thread, which may have ended since. */
struct toucher {
	unsigned owner; /* who pays for its nodes */
	pid_t pid, tid;
	__u32 thread, image; /* as in struct profile_sample */
	char comm[64];
};

/* The last fault of a page; or, for a region, the first. */
struct note {
	__u64 number; /* of the page, or of the region */
	__u64 time_ns; /* 0: before the first look */
	__u32 node; /* 0: unknown */
	__u32 toucher;
	bool counted; /* a huge page has been counted as touched */
};

struct notes {
	struct note *list;
	__u32 cnt, cap;
	bool full; /* sorting makes no room before the next look */
};

/* An image of a process. */
struct residence_book {
	pid_t pid;
	bool looked;
	__u32 shift; /* largest of its faults so far */
	__u32 touchers;
	__u64 lonely; /* region whose first fault was the last seen, without another one there yet; 0: none */
	struct notes pages, regions;
};

enum kind { KIND_PRIVATE, KIND_FILE, KIND_SWAPPED, KIND_CNT };

/* What is charged to a stack. */
struct row {
	__u32 node, toucher;
	enum kind kind;
	__u64 bytes;
};

struct rows {
	struct row *list;
	__u32 cnt, cap;
};

struct residence {
	struct collector *collector;
	struct processes *processes;
	unsigned resident, touched;
	__u32 page_shift;
	struct residence_book **books;
	__u32 book_cnt, book_cap;
	struct toucher *touchers; /* [0] is nobody */
	__u32 toucher_cnt, toucher_cap;
	struct quota *room[2]; /* of touchers: threads, processes */
	struct round {
		struct rows rows;
		__u64 bytes, time_ns;
		unsigned processes, cut, failed, old;
	} last, before; /* the last two rounds that found a process */
	bool ended; /* the very last one has found none */
	pid_t begin; /* of the next round */
	__u64 due_ns;
	struct residence_stats stats;
};

struct residence *residence__new(struct collector *collector, struct processes *processes,
				 unsigned resident, unsigned touched)
{
	struct residence *r = calloc(1, sizeof(*r));

	for (unsigned i = 0; r && i < 2; i++)
		r->room[i] = quota__new(TOUCHERS_MAX, TOUCHERS_MAX / 8);
	if (!r || !r->room[0] || !r->room[1] || vec_reserve(r->touchers, r->toucher_cap, 1)) {
		residence__free(r);
		return NULL;
	}
	memset(r->touchers, 0, sizeof(*r->touchers));
	r->toucher_cnt = 1;
	r->collector = collector;
	r->processes = processes;
	r->resident = resident;
	r->touched = touched;
	r->stats.shift = FAULT_SHIFT_BEGIN;
	r->page_shift = (__u32)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	return r;
}

static void book_free(struct residence_book *b)
{
	free(b->pages.list);
	free(b->regions.list);
	free(b);
}

void residence__free(struct residence *r)
{
	if (!r)
		return;
	for (__u32 i = 0; i < r->book_cnt; i++)
		book_free(r->books[i]);
	free(r->books);
	free(r->touchers);
	quota__free(r->room[0]);
	quota__free(r->room[1]);
	free(r->last.rows.list);
	free(r->before.rows.list);
	free(r);
}

/* ---- faults ----------------------------------------------------------------------------------- */

/* The process's book; NULL: out of memory. */
static struct residence_book *book_of(struct residence *r, struct process *p)
{
	struct residence_book *b;

	if (p->own->book)
		return p->own->book;
	if (vec_reserve(r->books, r->book_cap, r->book_cnt + 1))
		return NULL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->pid = p->pid;
	b->shift = FAULT_SHIFT_BEGIN;
	r->books[r->book_cnt++] = b;
	p->own->book = b;
	return b;
}

/* main: the one that its process needs in any case. 0: there are too many. */
static __u32 toucher_of(struct residence *r, struct residence_book *b, struct thread *t, bool main)
{
	struct toucher *to;

	if (t->own->toucher)
		return t->own->toucher;
	if (!main && b->touchers >= PROCESS_TOUCHERS_MAX)
		return 0;
	if (vec_reserve(r->touchers, r->toucher_cap, r->toucher_cnt + 1) ||
	    quota__take(r->room[main], t->process->owner, 1))
		return 0;
	b->touchers++;
	to = &r->touchers[r->toucher_cnt];
	*to = (struct toucher){ .pid = t->process->pid,
				.tid = t->tid,
				.thread = t->number,
				.image = t->process->image,
				.owner = t->process->owner };
	snprintf(to->comm, sizeof(to->comm), "%s", t->own->name);
	t->own->toucher = r->toucher_cnt++;
	return t->own->toucher;
}

/* By number; of one number by time, the later last. */
static int by_number(const void *a, const void *b)
{
	const struct note *x = a, *y = b;

	return compare_numbers(x->number, y->number) ?: compare_numbers(x->time_ns, y->time_ns);
}

/* Sorts them, and keeps the last of each number. */
static void settle_notes(struct notes *n)
{
	__u32 kept = 0;

	if (n->cnt)
		qsort(n->list, n->cnt, sizeof(*n->list), by_number);
	for (__u32 i = 0; i < n->cnt; i++) {
		if (i + 1 < n->cnt && n->list[i + 1].number == n->list[i].number)
			continue;
		n->list[kept++] = n->list[i];
	}
	n->cnt = kept;
}

/* False: there is no room for it. */
static bool add_note(struct notes *n, struct note note)
{
	if (n->cnt >= NOTES_MAX && !n->full) {
		settle_notes(n);
		n->full = n->cnt > NOTES_MAX / 8 * 7;
	}
	if (n->cnt >= NOTES_MAX || vec_reserve(n->list, n->cap, n->cnt + 1))
		return false;
	n->list[n->cnt++] = note;
	return true;
}

static __u64 region_bytes(const struct residence *r, __u32 shift)
{
	const __u32 pages = r->page_shift - 3;

	return 1ULL << (r->page_shift + (shift > pages ? shift : pages));
}

/* The last one had no other fault: a huge page, perhaps. */
static void count_lonely(struct residence *r, struct residence_book *b, __u64 region)
{
	if (b->lonely)
		r->stats.lonely_bytes += region_bytes(r, b->shift);
	b->lonely = region;
}

void residence__fault(struct residence *r, const struct record_sample *record, __u32 node)
{
	struct process *p = processes__find(r->processes, (pid_t)record->pid);
	struct thread *t = threads__peek(processes__threads(r->processes), (pid_t)record->tid,
					 record->thread_start_ns);
	struct residence_book *b = p && p->own ? book_of(r, p) : NULL;
	const __u32 toucher = b && t ? toucher_of(r, b, t, false) : 0;
	struct note note = { .number = fault_page(record->period),
			     .time_ns = record->time_ns,
			     .node = toucher ? node : 0,
			     .toucher = toucher };
	bool fits = !t || toucher;

	if (!b)
		return;
	r->stats.faults++;
	if (fault_shift_of(record->period) > b->shift)
		b->shift = fault_shift_of(record->period);
	if (b->shift > r->stats.shift)
		r->stats.shift = b->shift;
	if (record->period & FAULT_CHOSEN)
		fits = add_note(&b->pages, note) && fits;
	note.number >>= r->page_shift - 3;
	if (record->period & FAULT_FIRST) {
		fits = add_note(&b->regions, note) && fits;
		count_lonely(r, b, note.number);
	} else if (b->lonely == note.number) {
		b->lonely = 0;
	}
	r->stats.dropped += !fits;
}

__u64 residence__due(const struct residence *r)
{
	return r->due_ns;
}

/* ---- a look ----------------------------------------------------------------------------------- */

struct look {
	struct residence *r;
	struct residence_book *book;
	struct rows rows; /* of this process: bytes are pages until it is settled */
	__u32 marks[3]; /* nodes: unseen, before, files */
	__u32 main; /* toucher for marks */
	bool knows_kinds;
	__u64 counted[KIND_CNT]; /* chosen pages */
};

enum { UNSEEN, BEFORE, FILES };

static void charge(struct rows *rows, __u32 node, __u32 toucher, enum kind kind, __u64 bytes)
{
	struct row *last = rows->cnt ? &rows->list[rows->cnt - 1] : NULL;

	if (last && last->node == node && last->toucher == toucher && last->kind == kind)
		last->bytes += bytes;
	else if (!vec_reserve(rows->list, rows->cap, rows->cnt + 1))
		rows->list[rows->cnt++] = (struct row){ node, toucher, kind, bytes };
}

static int by_stack(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return compare_numbers(x->node, y->node)	       ?:
		       compare_numbers(x->toucher, y->toucher) ?:
								 (int)x->kind - (int)y->kind;
}

static struct note *find_region(const struct notes *n, __u64 number)
{
	const size_t at = sorted_below(n->cnt, i, n->list[i].number < number);

	return at < n->cnt && n->list[at].number == number ? &n->list[at] : NULL;
}

/* The chosen pages of one region in the list, and the notes of pages there. */
struct part {
	const __u64 *pages;
	__u32 page_cnt;
	struct note *notes;
	__u32 note_cnt;
};

/*
 * The fault that brought the huge page, if it is one and was brought by a fault: a huge page that the kernel has made of small
 * ones had faults of these after the first. If the kernel does not say which pages are huge, only those are that have
 * few faults of their own.
 */
static struct note *huge_page(const struct look *l, const struct part *part, __u64 number)
{
	struct note *first = find_region(&l->book->regions, number);
	__u32 later = 0, own = 0;

	if (!first || !first->node || !(part->pages[0] & PROBE_PAGE_HUGE))
		return NULL;
	for (__u32 i = 0; i < part->note_cnt; i++) {
		later += part->notes[i].time_ns > first->time_ns;
		own += part->notes[i].time_ns != first->time_ns;
	}
	if (l->knows_kinds)
		return later < 2 ? first : NULL;
	return own * 2 < part->page_cnt ? first : NULL;
}

static void charge_page(struct look *l, __u64 page, const struct note *own, const struct note *huge)
{
	const enum kind kind = page & PROBE_PAGE_SWAPPED ? KIND_SWAPPED :
			       page & PROBE_PAGE_FILE	 ? KIND_FILE :
							   KIND_PRIVATE;
	const struct note *by = huge && (!own || huge->time_ns >= own->time_ns) ? huge : own;
	unsigned mark = kind == KIND_FILE ? FILES : by && !by->time_ns ? BEFORE : UNSEEN;

	l->counted[kind]++;
	if (by && by->node)
		charge(&l->rows, by->node, by->toucher, kind, 1);
	else
		charge(&l->rows, l->marks[mark], l->main, kind, 1);
}

static void count_touched(struct look *l, struct note *huge, __u32 shift)
{
	struct residence *r = l->r;
	const struct toucher *to = &r->touchers[huge->toucher];
	const __u64 bytes = region_bytes(r, shift);

	if (huge->counted)
		return;
	huge->counted = true;
	r->stats.lonely_bytes -= bytes < r->stats.lonely_bytes ? bytes : r->stats.lonely_bytes;
	collector__put_made(r->collector, &(struct profile_sample){
						  .time_ns = huge->time_ns,
						  .period = bytes,
						  .node = huge->node,
						  .pid = to->pid,
						  .tid = to->tid,
						  .comm = to->comm,
						  .event = r->touched,
						  .thread = to->thread,
						  .image = to->image,
					  });
}

/* Charges the pages of one region. */
static void take_region(struct look *l, const struct part *part, __u64 number, __u32 shift)
{
	struct note *huge = huge_page(l, part, number);
	__u32 n = 0;

	for (__u32 i = 0; i < part->page_cnt; i++) {
		const __u64 page = probe_page_number(part->pages[i]);
		struct note *own = NULL;

		while (n < part->note_cnt && part->notes[n].number < page)
			n++;
		if (n < part->note_cnt && part->notes[n].number == page)
			own = &part->notes[n];
		charge_page(l, part->pages[i], own, huge);
	}
	if (huge)
		count_touched(l, huge, shift);
}

/* Keeps the notes of pages that are there, and those that are newer than the look. */
static void drop_gone(struct notes *n, const struct probe_pages *l, __u32 shift)
{
	__u32 kept = 0, i = 0;

	for (__u32 k = 0; k < n->cnt; k++) {
		while (i < l->head.cnt &&
		       probe_page_number(l->pages[i]) >> shift < n->list[k].number)
			i++;
		if ((i < l->head.cnt &&
		     probe_page_number(l->pages[i]) >> shift == n->list[k].number) ||
		    n->list[k].time_ns > l->head.time_ns)
			n->list[kept++] = n->list[k];
	}
	n->cnt = kept;
	n->full = false;
}

/* What is there at the first look, and nobody has been seen to touch. */
static void note_before(struct look *l, const struct probe_pages *pages)
{
	for (__u32 i = 0; i < pages->head.cnt; i++)
		if (!(pages->pages[i] & PROBE_PAGE_FILE))
			add_note(&l->book->pages,
				 (struct note){ .number = probe_page_number(pages->pages[i]) });
	l->book->looked = true;
	settle_notes(&l->book->pages);
}

static void take_pages(struct look *l, const struct probe_pages *pages)
{
	const __u32 region = l->r->page_shift - 3;
	struct notes *notes = &l->book->pages;
	__u32 n = 0;

	for (__u32 i = 0, end; i < pages->head.cnt; i = end) {
		const __u64 number = probe_page_number(pages->pages[i]) >> region;
		struct part part = { .pages = pages->pages + i };

		for (end = i; end < pages->head.cnt &&
			      probe_page_number(pages->pages[end]) >> region == number;)
			end++;
		while (n < notes->cnt && notes->list[n].number >> region < number)
			n++;
		part.page_cnt = end - i;
		part.notes = notes->list + n;
		while (n + part.note_cnt < notes->cnt &&
		       notes->list[n + part.note_cnt].number >> region == number)
			part.note_cnt++;
		take_region(l, &part, number, pages->head.shift);
	}
}

/* Chosen pages stand for all, whose number is exact. */
static __u64 bytes_of(const struct look *l, const struct probe_pages_head *head,
		      const struct row *row)
{
	const __u64 all[KIND_CNT] = { head->private, head->file, head->swapped };

	return (__u64)((double)row->bytes * (double)all[row->kind] / (double)l->counted[row->kind] *
		       (double)(1U << head->page_shift));
}

/* Adds the process's rows to those of the round. What has no chosen page is nobody's. */
static void add_rows(struct look *l, const struct probe_pages_head *head, struct rows *to)
{
	struct rows *from = &l->rows;

	for (enum kind k = 0; k < KIND_CNT; k++)
		if (!l->counted[k]) {
			l->counted[k] = 1;
			charge(from, l->marks[k == KIND_FILE ? FILES : UNSEEN], l->main, k, 1);
		}
	if (from->cnt)
		qsort(from->list, from->cnt, sizeof(*from->list), by_stack);
	for (__u32 i = 0, end; i < from->cnt; i = end) {
		struct row sum = from->list[i];

		for (end = i + 1; end < from->cnt && !by_stack(&from->list[end], &sum); end++)
			sum.bytes += from->list[end].bytes;
		charge(to, sum.node, sum.toucher, sum.kind, bytes_of(l, head, &sum));
	}
}

static bool make_marks(struct look *l, struct process *p)
{
	const char *const texts[] = { [UNSEEN] = MARK_MEMORY_UNSEEN,
				      [BEFORE] = p->parent_pid ? MARK_MEMORY_PARENT :
								 MARK_MEMORY_BEFORE,
				      [FILES] = MARK_MEMORY_FILES };
	struct thread *t = NULL;

	for (unsigned i = 0; i < 3; i++) {
		l->marks[i] = collector__mark_node(l->r->collector, p, texts[i], &t);
		if (!l->marks[i])
			return false;
	}
	l->main = toucher_of(l->r, l->book, t, true);
	return l->main;
}

static void take(struct look *l, struct process *p, struct probe_pages *pages, struct rows *to)
{
	struct residence *r = l->r;

	l->book = book_of(r, p);
	if (!l->book || !make_marks(l, p)) {
		r->stats.failed++;
		return;
	}
	l->knows_kinds = pages->head.knows_kinds;
	settle_notes(&l->book->pages);
	settle_notes(&l->book->regions);
	if (!l->book->looked)
		note_before(l, pages);
	take_pages(l, pages);
	drop_gone(&l->book->pages, pages, 0);
	drop_gone(&l->book->regions, pages, r->page_shift - 3);
	add_rows(l, &pages->head, to);
	r->stats.processes++;
	r->stats.cut += pages->head.cut;
}

/* The sums are exact even if none of them is a chosen one. */
static bool has_pages(const struct probe_pages_head *head)
{
	return head->private || head->file || head->swapped;
}

static void look_at(struct residence *r, struct process *p, struct rows *to)
{
	struct probe_pages pages = { .memory = NULL };
	struct look l = { .r = r };
	const pid_t pid = p->pid;
	const __u32 image = p->image;
	int err = probed__pages(p->probed, p->own->book ? p->own->book->shift : FAULT_SHIFT_BEGIN,
				&pages);

	/* It may have gone meanwhile. */
	p = processes__find(r->processes, pid);
	if (!err && p && p->image == image && p->own && has_pages(&pages.head))
		take(&l, p, &pages, to);
	else if (err && err != -ESRCH && err != -ENOENT)
		r->stats.failed++;
	free(l.rows.list);
	probe_pages_free(&pages);
}

/* ---- all of them ------------------------------------------------------------------------------ */

struct turn {
	pid_t pid;
	__u32 image, owner;
	bool done;
};

struct turns {
	struct turn *list;
	__u32 cnt, cap;
	__u32 done; /* one at least: each round gets further */
	pid_t next; /* whose turn it was when the time was over; 0: nobody's */
};

static void add_turn(void *ctx, const struct process *p)
{
	struct turns *turns = ctx;

	if (p->state == PROCESS_TRACKED && p->probed &&
	    !vec_reserve(turns->list, turns->cap, turns->cnt + 1))
		turns->list[turns->cnt++] =
			(struct turn){ p->pid, p->image, p->owner % OWNER_CNT, false };
}

static int by_pid(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Those that have not gone meanwhile, beginning where the last round ended; if thrifty, not of owners that had their part. */
static void take_turns(struct residence *r, struct turns *turns, __u64 until_ns, __u64 *spent,
		       bool thrifty, struct rows *to)
{
	__u32 begin = 0;

	while (begin < turns->cnt && turns->list[begin].pid < r->begin)
		begin++;
	for (__u32 i = 0; i < turns->cnt; i++) {
		struct turn *turn = &turns->list[(begin + i) % turns->cnt];
		struct process *p = processes__find(r->processes, turn->pid);
		const __u64 now_ns = clock_monotonic_ns();

		if (turn->done || (thrifty && spent[turn->owner] > ROUND_MAX_NS / OWNER_PART))
			continue;
		if (now_ns >= until_ns && turns->done) {
			turns->next = turns->next ?: turn->pid;
			return;
		}
		if (p && p->probed && p->own)
			look_at(r, p, to);
		spent[turn->owner] += clock_monotonic_ns() - now_ns;
		turn->done = true;
		turns->done++;
	}
}

/* For processes that this round did not get to: what the last one found. */
static void keep_old(struct residence *r, const struct turns *turns, struct rows *to)
{
	r->begin = turns->next;
	r->stats.old = turns->cnt - turns->done;
	for (__u32 i = 0; r->stats.old && i < r->last.rows.cnt; i++) {
		const struct row *row = &r->last.rows.list[i];
		const struct toucher *of = &r->touchers[row->toucher];
		const struct turn *turn = bsearch(&(struct turn){ .pid = of->pid }, turns->list,
						  turns->cnt, sizeof(*turn), by_pid);

		if (turn && !turn->done && turn->image == of->image)
			charge(to, row->node, row->toucher, row->kind, row->bytes);
	}
}

/* Books of images that nobody executes any more. */
static void forget_gone(struct residence *r)
{
	__u32 kept = 0;

	for (__u32 i = 0; i < r->book_cnt; i++) {
		struct residence_book *b = r->books[i];
		const struct process *p = processes__find(r->processes, b->pid);

		if (p && p->own && p->own->book == b) {
			r->books[kept++] = b;
			continue;
		}
		count_lonely(r, b, 0);
		book_free(b);
	}
	r->book_cnt = kept;
}

static void keep_round(struct residence *r, const struct rows *rows, __u64 time_ns)
{
	r->ended = !r->stats.processes && !r->stats.failed && !r->stats.old;
	if (!r->stats.processes) {
		free(rows->list);
		return;
	}
	free(r->before.rows.list);
	r->before = r->last;
	r->last = (struct round){ .rows = *rows,
				  .time_ns = time_ns,
				  .processes = r->stats.processes,
				  .cut = r->stats.cut,
				  .failed = r->stats.failed,
				  .old = r->stats.old };
	for (__u32 i = 0; i < rows->cnt; i++)
		r->last.bytes += rows->list[i].bytes;
}

void residence__look(struct residence *r)
{
	const __u64 begin_ns = clock_monotonic_ns();
	struct turns turns = { .cnt = 0 };
	struct rows rows = { .cnt = 0 };
	__u64 spent[OWNER_CNT] = { 0 }, spent_ns;

	r->stats.processes = r->stats.cut = r->stats.failed = r->stats.old = 0;
	processes__each(r->processes, add_turn, &turns);
	if (turns.cnt)
		qsort(turns.list, turns.cnt, sizeof(*turns.list), by_pid);
	take_turns(r, &turns, begin_ns + ROUND_MAX_NS, spent, true, &rows);
	take_turns(r, &turns, begin_ns + ROUND_MAX_NS, spent, false, &rows);
	keep_old(r, &turns, &rows);
	free(turns.list);
	keep_round(r, &rows, begin_ns);
	forget_gone(r);
	spent_ns = clock_monotonic_ns() - begin_ns;
	r->stats.rounds++;
	r->stats.spent_ns += spent_ns;
	r->due_ns = begin_ns + (REST * spent_ns > ROUND_NS ? REST * spent_ns : ROUND_NS);
}

void residence__report(struct residence *r)
{
	/* A command that ends frees its memory first, and the last look may have found it at that. */
	const struct round *round = r->ended && r->before.bytes > r->last.bytes ? &r->before :
										  &r->last;

	for (__u32 i = 0; i < r->book_cnt; i++)
		count_lonely(r, r->books[i], 0);
	if (r->stats.processes || r->ended) {
		r->stats.failed = round->failed;
		r->stats.old = round->old;
	}
	r->stats.time_ns = round->time_ns;
	r->stats.processes = round->processes;
	r->stats.cut = round->cut;
	for (__u32 i = 0; i < round->rows.cnt; i++) {
		const struct row *row = &round->rows.list[i];
		const struct toucher *to = &r->touchers[row->toucher];
		const struct process *p = processes__find(r->processes, to->pid);

		if (!row->bytes)
			continue;
		collector__put_made(r->collector,
				    &(struct profile_sample){
					    .time_ns = r->stats.time_ns,
					    .period = row->bytes,
					    .node = row->kind == KIND_SWAPPED ?
							    collector__child(r->collector,
									     to->owner, row->node,
									     MARK_MEMORY_SWAPPED) :
							    row->node,
					    .pid = to->pid,
					    .tid = to->tid,
					    .comm = to->comm,
					    .event = r->resident,
					    .space = p && p->image == to->image ? p->space : NULL,
					    .thread = to->thread,
					    .image = to->image,
				    });
	}
}

const struct residence_stats *residence__stats(const struct residence *r)
{
	return &r->stats;
}
