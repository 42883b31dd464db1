/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/page/html_measures.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/states.h"
#include "profile/waits.h"
#include "base/data/cleanup.h"

/*
 * Nodes in one page: about 10 MB, and one second to open. A larger tree loses its smallest
 * subtrees: each parent gets one mark for all of them. Counts stay true.
 */
#define HTML_MAX_NODES (1U << 20)

/* ---- which there are -------------------------------------------------------------------------- */

/* Returns the clock, or time off the CPU, if it has samples. */
static const struct counts *find_time(const struct profile *p, bool off_cpu)
{
	for (unsigned i = 0; i < p->event_cnt; i++) {
		const struct counts *c = profile__counts(p, i);

		if (profile__in_wall(p, i) && event_is_off_cpu(&c->event) == off_cpu && c->samples)
			return c;
	}
	return NULL;
}

int html_measures_choose(struct html_measures *m, const struct profile *p, unsigned event)
{
	const struct profile *events = p->sum_of ? p->sum_of : p;
	const struct counts *shown = profile__counts(p, event);
	const struct counts *cpu = find_time(events, false), *off = find_time(events, true);

	*m = (struct html_measures){ .all = shown };
	if (!cpu || !off || !event_is_time(&shown->event))
		return 0;
	m->first = event_is_off_cpu(&shown->event) ? "off" :
		   event_is_clock(&shown->event)   ? "cpu" :
						     "wall";
	if (!p->sum_of && profile__new_wall(&m->own_wall, p))
		return -ENOMEM;
	m->own_gil = counts__new_of_label(off, state_name(STATE_GIL));
	if (!m->own_gil)
		return -ENOMEM;
	m->all = m->own_wall ? profile__counts(m->own_wall, 0) : shown;
	m->cpu = cpu;
	m->gil = m->own_gil;
	return 0;
}

int html_measures_compare(struct html_measures *m, const struct counts *before,
			  const struct counts *after)
{
	int err;

	*m = (struct html_measures){ .first = "after", .before = before };
	m->own_sum = counts__new(after->dict, &after->event);
	if (!m->own_sum)
		return -ENOMEM;
	m->all = m->own_sum;
	err = counts__merge(m->own_sum, after);
	if (!err)
		err = counts__merge(m->own_sum, before);
	/* If both have time: a sample stands for different times at different rates. */
	m->own_sum->uneven |= counts__unit_ns(before) > 0 && counts__unit_ns(after) > 0;
	return err;
}

void html_measures_free(struct html_measures *m)
{
	counts__free(m->own_gil);
	counts__free(m->own_sum);
	profile__free(m->own_wall);
}

/* ---- nodes ------------------------------------------------------------------------------------ */

/* Returns the smallest total a node may have for the tree to fit. */
static __u64 least_total(const struct view *v, __u32 max)
{
	__u64 least = 1;
	__u32 i, cnt = v->node_cnt;

	while (cnt > max) {
		least *= 2;
		for (i = cnt = 0; i < v->node_cnt; i++)
			cnt += v->nodes[i].total >= least;
	}
	return least;
}

/* Stores for each node of the view the written node that it became or was merged into. */
static void put_tree(FILE *out, const struct view *v, __u32 *written_as)
{
	__u64 least = least_total(v, HTML_MAX_NODES), away = 0;
	__u32 i, next, written = 1;

	fprintf(out, "\"nodes\":[0,0,%llu", (unsigned long long)v->nodes[0].self);
	for (i = 1; i < v->node_cnt; i = next) {
		const struct view_node *n = &v->nodes[i];

		next = i + 1;
		if (n->total >= least) {
			fprintf(out, ",%u,%u,%llu", n->depth, n->frame,
				(unsigned long long)n->self);
			written_as[i] = written++;
			continue;
		}
		away += n->total;
		next = n->end;
		for (__u32 k = i; k < next; k++)
			written_as[k] = written;
		/* Adjacent left-out nodes share one mark. */
		if (next < v->node_cnt && v->nodes[next].parent == n->parent &&
		    v->nodes[next].total < least)
			continue;
		fprintf(out, ",%u,%u,%llu", n->depth, v->frame_cnt, (unsigned long long)away);
		written++;
		away = 0;
	}
	fputs("]", out);
}

static int put_measure(FILE *out, const char *name, const struct view *v, const struct counts *c,
		       const __u32 *page_node)
{
	cleanup_free __u64 *sums = calloc(v->node_cnt, sizeof(*sums));
	__u32 last = 0;
	bool any = false;

	if (!sums)
		return -ENOMEM;
	for (__u32 i = 0; i <= dict__node_cnt(v->dict); i++)
		sums[page_node[i]] += v->counts->uneven ? counts__at(c, i).weight :
							  counts__at(c, i).samples;
	fprintf(out, ",\n\"%s\":[", name);
	for (__u32 i = 0; i < v->node_cnt; i++) {
		if (!sums[i])
			continue;
		fprintf(out, "%s%u,%llu", any ? "," : "", i - last, (unsigned long long)sums[i]);
		last = i;
		any = true;
	}
	fputs("]", out);
	return 0;
}

int html_put_nodes(FILE *out, const struct view *v, const struct html_measures *m, bool moved,
		   __u32 **ret)
{
	cleanup_free __u32 *written_as = calloc(v->node_cnt, sizeof(*written_as));
	/* Those that moving has made are there already. */
	const __u32 cnt = dict__node_cnt(v->dict);
	cleanup_free __u32 *page_node = calloc((size_t)cnt + 1, sizeof(*page_node));
	int err = 0;

	if (!written_as || !page_node)
		return -ENOMEM;
	put_tree(out, v, written_as);
	for (__u32 i = 0; i <= cnt; i++) {
		__u32 node = i;

		if (moved && counts__at(m->all, i).samples)
			node = waits_without_kernel(m->all->dict, i);
		if (node <= cnt)
			page_node[i] = written_as[v->node_of[node]];
	}
	if (m->before)
		err = put_measure(out, "before", v, m->before, page_node);
	if (m->cpu)
		err = put_measure(out, "cpu", v, m->cpu, page_node);
	if (m->gil && !err)
		err = put_measure(out, "gil", v, m->gil, page_node);
	if (!err)
		*ret = take_ptr(&page_node);
	return err;
}
