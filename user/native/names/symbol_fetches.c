/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/names/symbol_fetches.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>

#include "process/space/modules.h"
#include "native/names/native_files.h"
#include "process/parser/fetcher.h"
#include "base/text/log.h"

/* Each is a process, and writes up to half a gigabyte. */
#define AT_ONCE 2U

struct wanted {
	struct module *module;
	struct fetch *fetch; /* NULL before it has begun, and when it is over */
	bool over;
};

/* In the order in which they were requested: those before first_left are over. */
struct symbol_fetches {
	struct native_files *files;
	struct wanted list[SYMBOL_FETCHES_MAX];
	unsigned cnt, first_left;
};

struct symbol_fetches *symbol_fetches__new(struct native_files *files)
{
	struct symbol_fetches *s = calloc(1, sizeof(*s));

	if (s)
		s->files = files;
	return s;
}

void symbol_fetches__free(struct symbol_fetches *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->cnt; i++)
		fetch__end(s->list[i].fetch);
	free(s);
}

bool symbol_fetches__may_come(struct symbol_fetches *s, struct module *module)
{
	uid_t owner;

	for (unsigned i = 0; i < s->cnt; i++) {
		if (s->list[i].module == module)
			return !s->list[i].over;
	}
	if (s->cnt == SYMBOL_FETCHES_MAX || !native_files__has_names(s->files, module) ||
	    !native_files__wants_debug(s->files, module, &owner))
		return false;
	s->list[s->cnt++] = (struct wanted){ .module = module };
	return true;
}

static void end(struct wanted *w, const char *why)
{
	if (*why)
		log_debug("symbols", "%s: not fetched: %s", module__name(w->module), why);
	fetch__end(w->fetch);
	w->fetch = NULL;
	w->over = true;
}

static void begin(struct wanted *w)
{
	char why[128];
	unsigned size;
	const __u8 *id = module__build_id(w->module, &size);

	w->fetch = id ? fetch__start(id, size, why, sizeof(why)) : NULL;
	if (!w->fetch)
		end(w, id ? why : "it has no build ID");
}

static void look_at(struct symbol_fetches *s, struct wanted *w)
{
	char why[128] = "";
	int fd, err = fetch__result(w->fetch, &fd, why, sizeof(why));

	if (err == -EINPROGRESS)
		return;
	if (!err)
		native_files__add_debug(s->files, w->module, fd);
	end(w, why);
}

void symbol_fetches__step(struct symbol_fetches *s)
{
	unsigned running = 0;

	for (unsigned i = s->first_left; i < s->cnt && running < AT_ONCE; i++) {
		struct wanted *w = &s->list[i];

		if (!w->over && !w->fetch)
			begin(w);
		if (w->fetch)
			look_at(s, w);
		running += w->fetch != NULL;
	}
	while (s->first_left < s->cnt && s->list[s->first_left].over)
		s->first_left++;
}

unsigned symbol_fetches__left(const struct symbol_fetches *s)
{
	unsigned left = 0;

	for (unsigned i = s->first_left; i < s->cnt; i++)
		left += !s->list[i].over;
	return left;
}
