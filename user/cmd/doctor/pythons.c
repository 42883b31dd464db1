/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/doctor/checks.h"
#include "cmd/doctor/findings.h"
#include "process/probe/prober.h"
#include "process/probe/probed.h"
#include "process/proc/proc.h"
#include "process/identify/py_process.h"
#include "process/probe/unread.h"
#include "base/system/clock.h"
#include "base/worker/own.h"
#include "base/data/vec.h"

/* Lines for refused processes; the rest is only counted. */
#define SHOWN_MAX 10U
/* Time limit for all looks together; a process without an answer by then counts as unread. */
#define WAIT_NS (5 * NS_PER_SEC)

#define WAIT_MS 20

struct pythons {
	struct findings *findings;
	struct prober *prober;
	pid_t only;
	pid_t *pids;
	size_t cnt, cap;
	unsigned good, refused, shown;
	struct unread unread;
};

struct look {
	struct pythons *all;
	pid_t pid;
	bool done;
	bool again; /* its debug information is being read: ask again soon */
};

static int add_pid(pid_t pid, void *ctx)
{
	struct pythons *p = ctx;

	if (pid == getpid() || prober__is_ours(p->prober, pid) ||
	    (!p->only && own_is_foreign(proc_owner(pid))))
		return 0;
	if (vec_reserve(p->pids, p->cap, p->cnt + 1))
		return -ENOMEM;
	p->pids[p->cnt++] = pid;
	return 0;
}

static void refuse(struct pythons *p, pid_t pid, int result, const char *why)
{
	p->refused++;
	if (p->shown++ < SHOWN_MAX)
		findings_add(p->findings, p->only ? FINDING_BROKEN : FINDING_LIMITED, "process",
			     "it is not recorded",
			     result == -EACCES && geteuid() ? "run krait with sudo" : NULL,
			     "%d: %s", (int)pid, why);
}

static void on_looked(void *ctx, int result, const void *data, size_t len, int fds[PROBE_FDS_MAX])
{
	struct look *look = ctx;
	struct pythons *p = look->all;
	const struct py_process *process = data && len >= sizeof(*process) ? data : NULL;

	look->done = true;
	look->again = result == -EINPROGRESS;
	if (look->again)
		return;
	if (!result && *process->second && p->shown++ < SHOWN_MAX)
		findings_add(p->findings, FINDING_LIMITED, "process",
			     "that one's functions are not shown", NULL,
			     "%d: a second interpreter runs in it: %s", (int)look->pid,
			     process->second);
	if (!result)
		p->good++;
	else if (p->only || result == -ENOTSUP || result == -ENODATA ||
		 (process && process->version))
		refuse(p, look->pid, result, process ? process->why : PROBED_HUNG);
	else if (result == -EACCES || result == -ETIMEDOUT || result == -EUSERS)
		unread_note(&p->unread, look->pid, process ? process->comm : "",
			    process	      ? process->why :
			    result == -EUSERS ? PROBED_OWNER_REFUSED :
						PROBED_HUNG);
}

static void ask(struct look *look)
{
	const struct probe_request r = { .op = PROBE_IDENTIFY, .pid = look->pid };
	int none[PROBE_FDS_MAX] = { -1, -1, -1 }, err;

	look->done = look->again = false;
	err = prober__ask(look->all->prober, PROBER_LATER, &r, NULL, 0, on_looked, look);
	if (err)
		on_looked(look, err, NULL, 0, none);
}

/* Asks again about processes whose debug information is being read. */
static bool ask_again(struct pythons *p, struct look *looks)
{
	bool asked = false;

	for (size_t i = 0; i < p->cnt; i++) {
		if (!looks[i].again)
			continue;
		if (!asked)
			prober__wait(p->prober, WAIT_MS);
		ask(&looks[i]);
		asked = true;
	}
	return asked;
}

static void look_at(struct pythons *p, struct look *looks)
{
	const __u64 end_ns = clock_monotonic_ns() + WAIT_NS;
	int none[PROBE_FDS_MAX] = { -1, -1, -1 };

	for (size_t i = 0; i < p->cnt; i++) {
		looks[i] = (struct look){ .all = p, .pid = p->pids[i] };
		ask(&looks[i]);
	}
	do {
		while (prober__pending(p->prober) && clock_monotonic_ns() < end_ns)
			prober__wait(p->prober, WAIT_MS);
	} while (clock_monotonic_ns() < end_ns && ask_again(p, looks));
	for (size_t i = 0; i < p->cnt; i++) {
		if (looks[i].done && !looks[i].again)
			continue;
		prober__forget(p->prober, &looks[i]);
		on_looked(&looks[i], -ETIMEDOUT, NULL, 0, none);
	}
}

static void say(const struct pythons *p)
{
	char unread[768];

	unread_say(&p->unread, unread, sizeof(unread));
	if (p->shown > SHOWN_MAX)
		findings_add(p->findings, FINDING_LIMITED, "process", "they are not recorded",
			     "krait list", "%u more are refused", p->shown - SHOWN_MAX);
	/* The service does not tell of others, and looks at none of its own processes. */
	if (*unread && !own_only())
		findings_add(p->findings, FINDING_LIMITED, "processes",
			     "any of them that are Python cannot be recorded",
			     geteuid() ? "run krait with sudo" : NULL, "%s", unread);
	if (!p->only)
		findings_add(p->findings, FINDING_OK, "interpreters", NULL, NULL,
			     "%u Python process%s can be recorded", p->good,
			     p->good == 1 ? "" : "es");
	else if (p->good)
		findings_add(p->findings, FINDING_OK, "process", NULL, NULL, "%d can be recorded",
			     (int)p->only);
}

void checks_pythons(struct findings *f, struct prober *prober, pid_t pid)
{
	struct pythons p = { .findings = f, .prober = prober, .only = pid };
	int err = pid ? add_pid(pid, &p) : process_each(add_pid, &p);
	struct look *looks = err ? NULL : calloc(p.cnt + 1, sizeof(*looks));

	if (looks) {
		look_at(&p, looks);
		say(&p);
	}
	free(looks);
	free(p.pids);
}
