/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/resources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>
#include <sys/utsname.h>

#include "record/run/about.h"
#include "base/data/cleanup.h"
#include "base/text/printable.h"

/* ---- host ------------------------------------------------------------------------------------- */

/* This machine, described by OpenTelemetry attributes. */

void host_read(struct host *ret)
{
	cleanup_fclose FILE *f = fopen("/etc/machine-id", "re");

	memset(ret, 0, sizeof(*ret));
	uname(&ret->uts);
	if (!f || !fgets(ret->id, sizeof(ret->id), f) ||
	    strspn(ret->id, "0123456789abcdef") != sizeof(ret->id) - 1)
		ret->id[0] = '\0';
}

/* ---- resources -------------------------------------------------------------------------------- */

/* A process without samples for this many windows is forgotten; if it comes back it is asked again. */
#define IDLE_WINDOWS 30
/* Attributes that krait itself adds to what a process claims. */
#define OWN_MAX 16
#define ATTRIBUTES_MAX (OWN_MAX + CLAIMS_MAX + 1)
/* Pending requests to probers at a time. */
#define ASKED_MAX 64U

struct resource_key {
	int pid;
	__u32 image;
};

struct claim {
	char *key, *value;
};

struct resource {
	struct resource_key key;
	UT_hash_handle hh;
	struct resources *of;
	struct session_about about;
	bool asked, answered;
	bool asked_program; /* the parent was asked instead */
	unsigned idle; /* windows */
	char service[CLAIMS_VALUE_MAX]; /* claimed; "": none */
	char exe[sizeof(((struct claims *)0)->exe)];
	char unit[128], pod[40];
	struct claim *claims;
	unsigned claim_cnt;
};

struct user {
	uid_t uid;
	unsigned cnt;
	UT_hash_handle hh;
};

struct resources {
	const struct host *host;
	struct session *session;
	struct resource *table;
	struct user *users;
	unsigned asked_cnt;
	struct resources_stats stats;
	/* What is returned to callers. */
	struct otlp_attribute list[ATTRIBUTES_MAX];
	const char *claimed[CLAIMS_MAX + 1];
	char version[16], name[CLAIMS_VALUE_MAX * 4];
};

/* ---- what a process claims -------------------------------------------------------------------- */

/* A process may not claim these. */
static bool is_ours(const char *key)
{
	static const char *const prefixes[] = { "process.", "host.",	"os.",	   "krait.",
						"thread.",  "systemd.", "profile." };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (!strncmp(key, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return !strcmp(key, "container.id") || !strcmp(key, "k8s.pod.uid");
}

static void free_claims(struct resource *p)
{
	for (unsigned i = 0; i < p->claim_cnt; i++) {
		free(p->claims[i].key);
		free(p->claims[i].value);
	}
	free(p->claims);
	p->claims = NULL;
	p->claim_cnt = 0;
}

static bool has_claim(const struct resource *p, const char *key)
{
	for (unsigned i = 0; i < p->claim_cnt; i++) {
		if (!strcmp(p->claims[i].key, key))
			return true;
	}
	return false;
}

static void take_claim(void *ctx, const char *key, const char *value)
{
	struct resource *p = ctx;
	struct claim claim;

	if (!strcmp(key, "service.name")) {
		if (!p->service[0])
			snprintf(p->service, sizeof(p->service), "%s", value);
		return;
	}
	if (is_ours(key) || has_claim(p, key)) {
		p->of->stats.claims_refused++;
		return;
	}
	claim = (struct claim){ strdup(key), strdup(value) };
	if (!claim.key || !claim.value) {
		free(claim.key);
		free(claim.value);
		return;
	}
	p->claims[p->claim_cnt++] = claim;
}

static void take_claims(struct resource *p, const struct claims *c)
{
	snprintf(p->exe, sizeof(p->exe), "%s", c->exe);
	unit_of_cgroup(c->cgroup, p->unit, sizeof(p->unit));
	pod_of_cgroup(c->cgroup, p->pod, sizeof(p->pod));
	/* If both are given, OTEL_SERVICE_NAME takes precedence. */
	snprintf(p->service, sizeof(p->service), "%s", c->service_name);
	p->claims = calloc(CLAIMS_MAX, sizeof(*p->claims));
	if (!p->claims)
		return;
	if (c->attributes_cut || claims_each(c->attributes, take_claim, p) < 0)
		p->of->stats.claims_refused++;
	if (!p->claim_cnt)
		free_claims(p);
}

/* Checks that texts from another process are terminated, however they were sent. */
static bool is_whole(const struct claims *c)
{
	return memchr(c->service_name, '\0', sizeof(c->service_name)) &&
	       memchr(c->attributes, '\0', sizeof(c->attributes)) &&
	       memchr(c->exe, '\0', sizeof(c->exe)) && memchr(c->cgroup, '\0', sizeof(c->cgroup));
}

static void on_claims(void *ctx, int result, const void *data, size_t len, int fds[PROBE_FDS_MAX]);

static bool ask_program(struct resource *p)
{
	p->asked_program = true;
	p->asked = !session__ask_program_claims(p->of->session, &p->about, on_claims, p);
	p->of->asked_cnt += p->asked;
	return p->asked;
}

static void on_claims(void *ctx, int result, const void *data, size_t len, int fds[PROBE_FDS_MAX])
{
	struct resource *p = ctx;

	p->asked = false;
	p->of->asked_cnt--;
	/* A fork that has executed something else, or has ended: what it was, its parent is. */
	if ((result == -ESTALE || result == -ESRCH) && !p->asked_program && ask_program(p))
		return;
	/* If there was no prober, ask again. */
	p->answered = result != -EAGAIN;
	if (!result && data && len == sizeof(struct claims) && is_whole(data))
		take_claims(p, data);
}

/* ---- the table -------------------------------------------------------------------------------- */

static struct resource *find(const struct resources *r, int pid, __u32 image)
{
	struct resource_key key;
	struct resource *p;

	memset(&key, 0, sizeof(key));
	key.pid = pid;
	key.image = image;
	HASH_FIND(hh, r->table, &key, sizeof(key), p);
	return p;
}

/* Until it has answered, a fork is what the program that it runs is; NULL: unknown. */
static const struct resource *described(const struct resources *r, int pid, __u32 image)
{
	const struct resource *p = find(r, pid, image), *program;

	if (!p || p->exe[0] || !p->about.program_pid)
		return p;
	program = find(r, p->about.program_pid, p->about.program_image);
	return program && program->exe[0] ? program : p;
}

static struct user *user_of(struct resources *r, uid_t uid)
{
	struct user *u;

	HASH_FIND(hh, r->users, &uid, sizeof(uid), u);
	if (u)
		return u;
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->uid = uid;
	HASH_ADD(hh, r->users, uid, sizeof(u->uid), u);
	return u;
}

static void drop(struct resources *r, struct resource *p)
{
	struct user *u = user_of(r, p->about.uid);

	if (p->asked) {
		session__forget_claims(r->session, p);
		r->asked_cnt--;
	}
	HASH_DEL(r->table, p);
	r->stats.known--;
	if (u && u->cnt && !--u->cnt) {
		HASH_DEL(r->users, u);
		free(u);
	}
	free_claims(p);
	free(p);
}

static struct resource *add(struct resources *r, int pid, __u32 image)
{
	struct session_about about = { .uid = (uid_t)-1 };
	struct resource *p;
	struct user *u;

	/* A process that has already ended has at least a pid. */
	if (session__about(r->session, pid, image, &about))
		about.uid = (uid_t)-1;
	u = user_of(r, about.uid);
	if (!u || r->stats.known >= RESOURCES_MAX ||
	    (u->cnt >= RESOURCES_USER_MAX && about.uid != 0)) {
		r->stats.refused++;
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->key.pid = pid;
	p->key.image = image;
	p->of = r;
	p->about = about;
	HASH_ADD(hh, r->table, key, sizeof(p->key), p);
	u->cnt++;
	r->stats.known++;
	return p;
}

void resources__meet(struct resources *r, int pid, __u32 image)
{
	struct resource *p = find(r, pid, image);

	if (!p)
		p = add(r, pid, image);
	if (!p)
		return;
	p->idle = 0;
	if (p->asked || p->answered || r->asked_cnt >= ASKED_MAX)
		return;
	p->asked = true;
	r->asked_cnt++;
	if (session__ask_claims(r->session, pid, on_claims, p)) {
		p->asked = false;
		r->asked_cnt--;
		p->answered = true;
	}
}

void resources__end_window(struct resources *r)
{
	struct resource *p, *next;

	HASH_ITER(hh, r->table, p, next) {
		if (p->idle++ >= IDLE_WINDOWS)
			drop(r, p);
	}
}

/* ---- attributes ------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* *ret_claimed: the process itself claims it. */
static const char *service_of(struct resources *r, const struct resource *p, bool *ret_claimed)
{
	const char *name;

	*ret_claimed = p && p->service[0];
	if (!p)
		return "unknown_service";
	if (*ret_claimed) {
		name = p->service;
	} else if (p->unit[0] && !p->about.container[0]) {
		snprintf(r->name, sizeof(r->name), "%.*s",
			 (int)(strlen(p->unit) - strlen(".service")), p->unit);
		return r->name;
	} else {
		name = p->about.script[0] ? base_name(p->about.script) : p->about.comm;
	}
	printable_into(r->name, sizeof(r->name), name);
	return r->name[0] ? r->name : "unknown_service";
}

static void put_text(struct otlp_attributes *ret, const char *key, const char *text)
{
	struct otlp_attribute *list = (struct otlp_attribute *)ret->list;

	if (text[0])
		list[ret->cnt++] =
			(struct otlp_attribute){ .key = key, .kind = OTLP_TEXT, .text = text };
}

static void put_claims(struct resources *r, const struct resource *p, bool service,
		       struct otlp_attributes *ret)
{
	unsigned cnt = 0;

	if (service)
		r->claimed[cnt++] = "service.name";
	for (unsigned i = 0; i < p->claim_cnt; i++) {
		put_text(ret, p->claims[i].key, p->claims[i].value);
		r->claimed[cnt++] = p->claims[i].key;
	}
	if (cnt)
		r->list[ret->cnt++] = (struct otlp_attribute){
			.key = "krait.claimed",
			.kind = OTLP_TEXTS,
			.texts = r->claimed,
			.text_cnt = cnt,
		};
}

static void put_process(struct resources *r, const struct resource *p, struct otlp_attributes *ret)
{
	__u32 version = p->about.version;

	put_text(ret, "process.executable.name", base_name(p->exe));
	put_text(ret, "process.executable.path", p->exe);
	if (version) {
		snprintf(r->version, sizeof(r->version), "%u.%u.%u", version >> 24,
			 version >> 16 & 0xff, version >> 8 & 0xff);
		put_text(ret, "process.runtime.name", "cpython");
		put_text(ret, "process.runtime.version", r->version);
	}
	put_text(ret, "container.id", p->about.container);
	put_text(ret, "k8s.pod.uid", p->pod);
	put_text(ret, "systemd.unit", p->unit);
}

static void put_host(struct resources *r, const char *service, struct otlp_attributes *ret)
{
	put_text(ret, "service.name", service);
	put_text(ret, "host.name", r->host->uts.nodename);
	put_text(ret, "host.id", r->host->id);
	put_text(ret, "os.type", "linux");
}

/* Comes last, so that gzip finds all attributes before it, in one piece, in the previous process. */
static void put_pid(struct resources *r, int pid, struct otlp_attributes *ret)
{
	r->list[ret->cnt++] =
		(struct otlp_attribute){ .key = "process.pid", .kind = OTLP_NUMBER, .number = pid };
}

struct otlp_attributes resources__own(struct resources *r)
{
	struct otlp_attributes ret = { .list = r->list };

	put_host(r, "krait-agent", &ret);
	put_pid(r, getpid(), &ret);
	return ret;
}

struct otlp_attributes resources__of(struct resources *r, int pid, __u32 image)
{
	struct otlp_attributes ret = { .list = r->list };
	const struct resource *p = described(r, pid, image);
	bool claimed;

	put_host(r, service_of(r, p, &claimed), &ret);
	if (p) {
		put_process(r, p, &ret);
		put_claims(r, p, claimed, &ret);
	}
	put_pid(r, pid, &ret);
	return ret;
}

const char *resources__service(struct resources *r, int pid, __u32 image, uid_t *ret_uid,
			       bool *ret_claimed)
{
	const struct resource *p = described(r, pid, image);
	bool claimed;

	if (ret_uid)
		*ret_uid = p ? p->about.uid : (uid_t)-1;
	return service_of(r, p, ret_claimed ? ret_claimed : &claimed);
}

bool resources__whose(const struct resources *r, int pid, __u32 *ret_uid, bool *ret_claimed)
{
	const struct resource *found = NULL;

	for (const struct resource *p = r->table; p; p = p->hh.next)
		if (p->key.pid == pid && (!found || p->key.image > found->key.image))
			found = p;
	if (!found || found->about.uid == (uid_t)-1)
		return false;
	*ret_uid = found->about.uid;
	*ret_claimed = found->service[0] != '\0';
	return true;
}

/* ---- life ------------------------------------------------------------------------------------- */

struct resources *resources__new(const struct host *host)
{
	struct resources *r = calloc(1, sizeof(*r));

	if (r)
		r->host = host;
	return r;
}

void resources__connect(struct resources *r, struct session *session)
{
	r->session = session;
}

bool resources__build_id(const struct resources *r, const char *file, char *buf, size_t size)
{
	unsigned id_size = 0;
	const __u8 *id = r->session ? session__build_id(r->session, file, &id_size) : NULL;

	if (!id || !id_size || size < 2 * (size_t)id_size + 1)
		return false;
	for (unsigned i = 0; i < id_size; i++)
		snprintf(buf + 2 * (size_t)i, 3, "%02x", id[i]);
	return true;
}

void resources__free(struct resources *r)
{
	struct resource *p, *next;

	if (!r)
		return;
	HASH_ITER(hh, r->table, p, next)
		drop(r, p);
	free(r);
}

void resources__each_version(const struct resources *r, void (*fn)(void *ctx, __u32 version),
			     void *ctx)
{
	const struct resource *p;

	for (p = r->table; p; p = p->hh.next)
		fn(ctx, p->about.version);
}

void resources__stats(const struct resources *r, struct resources_stats *ret)
{
	*ret = r->stats;
}
