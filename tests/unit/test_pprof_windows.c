/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pprof_windows.c - pprof output of an agent: pushed, each sample is in its service's body;
 * pulled, a profile covers the requested seconds. Exporter, server and resources are replaced.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

#include "agent/pprof_pull.h"
#include "agent/pprof_push.h"
#include "agent/resources.h"
#include "output/formats/pprof.pb-c.h"
#include "agent/export/exporter.h"
#include "profile/window.h"
#include "agent/serve/server.h"
#include "support_profile.h"
#include "base/system/clock.h"

#define BODIES_MAX 16

static struct {
	unsigned cnt, status[BODIES_MAX];
	__u64 id[BODIES_MAX], samples[BODIES_MAX];
	char query[BODIES_MAX][EXPORT_QUERY_MAX];
	Krait__Pprof__Profile *profile[BODIES_MAX];
} seen;

static Krait__Pprof__Profile *unpack(const void *data, size_t len)
{
	static unsigned char buf[1 << 20];
	z_stream z = { .next_in = (void *)data,
		       .avail_in = (unsigned)len,
		       .next_out = buf,
		       .avail_out = sizeof(buf) };
	Krait__Pprof__Profile *profile;

	assert_int_equal(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	inflateEnd(&z);
	profile = krait__pprof__profile__unpack(NULL, z.total_out, buf);
	assert_non_null(profile);
	return profile;
}

int exporter__push(struct exporter *e, const struct export_batch *batch)
{
	assert_true(seen.cnt < BODIES_MAX);
	assert_int_equal(batch->kind, EXPORT_PPROF);
	seen.samples[seen.cnt] = batch->samples;
	snprintf(seen.query[seen.cnt], EXPORT_QUERY_MAX, "%s", batch->query);
	seen.profile[seen.cnt++] = unpack(batch->body, batch->len);
	return 0;
}

int server__answer(struct server *s, __u64 id, unsigned status, const char *content_type,
		   const void *body, size_t len)
{
	assert_true(seen.cnt < BODIES_MAX);
	seen.id[seen.cnt] = id;
	seen.status[seen.cnt] = status;
	seen.profile[seen.cnt++] = status == 200 ? unpack(body, len) : NULL;
	return 0;
}

int server_query_value(const char *query, const char *name, char *buf, size_t size)
{
	char pattern[32];
	const char *at;

	snprintf(pattern, sizeof(pattern), "%s=", name);
	at = strstr(query, pattern);
	if (!at)
		return -ENOENT;
	snprintf(buf, size, "%.*s", (int)strcspn(at + strlen(pattern), "&"), at + strlen(pattern));
	return (int)strlen(buf);
}

/* 7 and 9 belong to one service. */
const char *resources__service(struct resources *r, int pid, __u32 image, uid_t *ret_uid,
			       bool *ret_claimed)
{
	return pid == 8 ? "mail {x}" : "shop";
}

/* No process claims its name. */
bool resources__whose(const struct resources *r, int pid, __u32 *ret_uid, bool *ret_claimed)
{
	return false;
}

static void forget_seen(void)
{
	for (unsigned i = 0; i < seen.cnt; i++) {
		if (seen.profile[i])
			krait__pprof__profile__free_unpacked(seen.profile[i], NULL);
	}
	memset(&seen, 0, sizeof(seen));
}

static int64_t sum(const Krait__Pprof__Profile *p, unsigned column)
{
	int64_t total = 0;

	for (size_t i = 0; i < p->n_sample; i++)
		total += p->sample[i]->value[column];
	return total;
}

static __u32 stack(struct profile *p, int pid, const char *leaf)
{
	__u32 node = push(p, 0, add_process(p, "python3", pid));

	node = push(p, node, add_thread(p, "python3", pid, pid));
	return push(p, node, add_function(p, leaf, "m.py", 1, 2));
}

static struct profile *new_session(void)
{
	struct profile *p = profile__new();
	struct event_spec clock;

	event_default(&clock);
	clock.frequency = 100;
	assert_int_equal(profile__set_event(p, 0, &clock), 0);
	return p;
}

static struct profile_sample sample_at(__u64 time_ns, int pid, __u32 node)
{
	return (struct profile_sample){ .time_ns = time_ns,
					.period = 10000000,
					.node = node,
					.comm = "python3",
					.pid = pid,
					.tid = pid,
					.image = 1 };
}

static void each_service_has_a_body_of_its_own(void **state)
{
	struct profile *p = new_session();
	struct pprof_push *push = pprof_push__new((struct exporter *)&seen, NULL, "ada 1");
	struct agent_sink sink = pprof_push__sink(push);
	struct window w;

	window__begin(&w, p, 100 * NS_PER_SEC);
	for (int i = 0; i < 30; i++) {
		struct profile_sample s =
			sample_at(100 * NS_PER_SEC, 7 + i % 3,
				  stack(p, 7 + i % 3, i % 3 == 1 ? "post" : "sell"));

		(void)sample_store_add(&w.samples, &s);
	}
	w.to_ns = 110 * NS_PER_SEC;
	w.wall_offset_ns = 1000 * (__s64)NS_PER_SEC;
	window__sort(&w);
	sink.window(sink.ctx, &w);
	assert_int_equal(seen.cnt, 2);
	assert_int_equal(seen.samples[0], 10);
	assert_int_equal(seen.samples[1], 20);
	assert_string_equal(
		seen.query[0],
		"name=mail__x_%7Bhost%3Dada_1%7D&from=1100&until=1110&format=pprof&spyName=krait");
	assert_int_equal(sum(seen.profile[0], 0), 10);
	assert_int_equal(sum(seen.profile[1], 0), 20);
	assert_int_equal(sum(seen.profile[1], 1), 20 * 10000000);
	assert_int_equal(seen.profile[1]->time_nanos, 1100 * NS_PER_SEC);
	assert_int_equal(seen.profile[1]->duration_nanos, 10 * NS_PER_SEC);
	/* It does not contain the other's function. */
	assert_int_equal(seen.profile[0]->n_function, 1);
	assert_int_equal(seen.profile[1]->n_function, 1);
	forget_seen();
	window__end(&w);
	pprof_push__free(push);
	profile__free(p);
}

static void take(struct pprof_pull *pull, __u64 id, const char *query, __u64 now_ns)
{
	struct server_request request = { .id = id, .path = PPROF_PULL_PATH };

	snprintf(request.query, sizeof(request.query), "%s", query);
	pprof_pull__take(pull, &request, now_ns);
}

static void who_asks_has_what_was_sampled_meanwhile(void **state)
{
	struct profile *p = new_session();
	struct pprof_pull *pull = pprof_pull__new((struct server *)&seen, NULL);
	struct agent_sink sink = pprof_pull__sink(pull);

	pprof_pull__connect(pull, p);
	take(pull, 1, "seconds=2", 10 * NS_PER_SEC);
	take(pull, 2, "seconds=1&pid=8", 10 * NS_PER_SEC);
	take(pull, 3, "seconds=2&service=shop", 10 * NS_PER_SEC);
	for (unsigned i = 0; i < 40; i++) {
		int pid = i % 2 ? 8 : 7;
		struct profile_sample s =
			sample_at(9 * NS_PER_SEC + i * NS_PER_SEC / 10, pid, stack(p, pid, "f"));

		sink.sample(sink.ctx, p, &s);
		/* Ids have changed by then. */
		assert_int_equal(dict__forget(p->dict), 0);
		sink.step(sink.ctx, s.time_ns);
	}
	assert_int_equal(seen.cnt, 3);
	assert_int_equal(seen.id[0], 2);
	assert_int_equal(sum(seen.profile[0], 0), 5);
	assert_int_equal(sum(seen.profile[1], 0), 20);
	assert_int_equal(sum(seen.profile[2], 0), 10);
	assert_int_equal(seen.profile[1]->duration_nanos, 2 * NS_PER_SEC);
	forget_seen();
	/* Requests still open at the end are answered. */
	take(pull, 9, "", 20 * NS_PER_SEC);
	pprof_pull__free(pull);
	assert_int_equal(seen.cnt, 1);
	assert_int_equal(seen.status[0], 503);
	forget_seen();
	profile__free(p);
}

static void nonsense_and_too_many_are_refused(void **state)
{
	static const char *const bad[] = { "seconds=0",
					   "seconds=301",
					   "seconds=-1",
					   "seconds=x",
					   "seconds=",
					   "seconds=1&pid=0",
					   "seconds=1&pid=9999999999",
					   "service=" };
	struct profile *p = new_session();
	struct pprof_pull *pull = pprof_pull__new((struct server *)&seen, NULL);

	pprof_pull__connect(pull, p);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		take(pull, i, bad[i], 0);
		assert_int_equal(seen.cnt, i + 1);
		assert_int_equal(seen.status[i], 400);
	}
	forget_seen();
	for (unsigned i = 0; i < PPROF_PULL_PLACES; i++)
		take(pull, i, "seconds=5", 0);
	assert_int_equal(seen.cnt, 0);
	take(pull, 99, "seconds=5", 0);
	assert_int_equal(seen.status[0], 503);
	pprof_pull__free(pull);
	assert_int_equal(seen.cnt, 1 + PPROF_PULL_PLACES);
	forget_seen();
	profile__free(p);
}

/*
 * Clients that occupy all places for minutes do not lock others out: the first of them gets what
 * there is so far.
 */
static void who_has_had_enough_gives_way(void **state)
{
	const __u64 own_ns = PPROF_PULL_OWN_SECONDS * NS_PER_SEC;
	struct profile *p = new_session();
	struct pprof_pull *pull = pprof_pull__new((struct server *)&seen, NULL);
	struct agent_sink sink = pprof_pull__sink(pull);
	struct profile_sample s = sample_at(12 * NS_PER_SEC, 7, stack(p, 7, "f"));

	pprof_pull__connect(pull, p);
	for (unsigned i = 0; i < PPROF_PULL_PLACES; i++)
		take(pull, i, "seconds=300", (10 + i) * NS_PER_SEC);
	sink.sample(sink.ctx, p, &s);
	take(pull, 98, "seconds=1", 10 * NS_PER_SEC + own_ns - 1);
	assert_int_equal(seen.cnt, 1);
	assert_int_equal(seen.status[0], 503);
	forget_seen();
	take(pull, 99, "seconds=1", 10 * NS_PER_SEC + own_ns);
	assert_int_equal(seen.cnt, 1);
	assert_int_equal(seen.id[0], 0);
	assert_int_equal(seen.status[0], 200);
	assert_int_equal(sum(seen.profile[0], 0), 1);
	assert_int_equal(seen.profile[0]->duration_nanos, own_ns);
	forget_seen();
	s.time_ns = 10 * NS_PER_SEC + own_ns + 1;
	sink.sample(sink.ctx, p, &s);
	sink.step(sink.ctx, 20 * NS_PER_SEC);
	assert_int_equal(seen.cnt, 1);
	assert_int_equal(seen.id[0], 99);
	assert_int_equal(sum(seen.profile[0], 0), 1);
	/* The second one gives up the next place. */
	take(pull, 100, "seconds=1", 20 * NS_PER_SEC);
	take(pull, 101, "seconds=1", 20 * NS_PER_SEC);
	assert_int_equal(seen.cnt, 2);
	assert_int_equal(seen.id[1], 1);
	pprof_pull__free(pull);
	forget_seen();
	profile__free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_service_has_a_body_of_its_own),
		cmocka_unit_test(who_asks_has_what_was_sampled_meanwhile),
		cmocka_unit_test(nonsense_and_too_many_are_refused),
		cmocka_unit_test(who_has_had_enough_gives_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
