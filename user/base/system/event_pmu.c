/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/system/event_pmu.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"

/* An event of a PMU is a list of fields; none refers to another event. */
#define DEPTH_MAX 2
#define TEXT_MAX 256

struct pmu {
	struct event_spec *event;
	const char *folder, *name;
	char *why;
	size_t why_size;
};

static bool is_name(const char *text)
{
	return *text && *text != '.' && !strchr(text, '/');
}

/* The first line of a file; false: there is none. */
static bool read_line(char text[TEXT_MAX], const struct pmu *p, const char *kind, const char *name)
{
	char path[PATH_MAX];
	cleanup_fclose FILE *f = NULL;

	if (snprintf(path, sizeof(path), "%s/%s/%s%s%s", p->folder, p->name, kind, *name ? "/" : "",
		     name) >= (int)sizeof(path))
		return false;
	f = fopen(path, "re");
	if (!f || !fgets(text, TEXT_MAX, f))
		return false;
	text[strcspn(text, "\n")] = '\0';
	return true;
}

/* Appends the names in a folder of the PMU's, or of all PMUs (kind NULL). */
static void list(const struct pmu *p, const char *kind, const char *begin)
{
	char path[PATH_MAX];
	cleanup_closedir DIR *dir = NULL;
	struct dirent *entry;
	const char *between = begin;

	snprintf(path, sizeof(path), "%s%s%s%s%s", p->folder, kind ? "/" : "", kind ? p->name : "",
		 kind ? "/" : "", kind ? kind : "");
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		size_t len = strlen(p->why);

		/* "mem-loads.unit" and the like describe events. */
		if (strchr(entry->d_name, '.') || len + strlen(entry->d_name) + 16 > p->why_size)
			continue;
		snprintf(p->why + len, p->why_size - len, "%s%s", between, entry->d_name);
		between = ", ";
	}
}

static int refuse_term(const struct pmu *p, const char *term)
{
	snprintf(p->why, p->why_size, "%s has no event or field \"%s\"", p->name, term);
	list(p, "events", "; its events: ");
	list(p, "format", "; its fields: ");
	return -ENOENT;
}

static int refuse_value(const struct pmu *p, const char *term, const char *value)
{
	snprintf(p->why, p->why_size, "\"%s\" is no value of %s's %s", value, p->name, term);
	return -ERANGE;
}

/* Spreads a value over bits such as "0-7,32-35". False: it does not fit. */
static bool put_bits(__u64 *to, const char *bits, __u64 value)
{
	while (*bits) {
		char *end;
		unsigned long first = strtoul(bits, &end, 10), last = first;
		__u64 mask;

		if (end == bits)
			return false;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (first > last || last > 63 || (*end && *end != ','))
			return false;
		mask = last - first == 63 ? ~0ULL : (1ULL << (last - first + 1)) - 1;
		*to = (*to & ~(mask << first)) | (value & mask) << first;
		value = last - first == 63 ? 0 : value >> (last - first + 1);
		bits = end + (*end == ',');
	}
	return !value;
}

/* "config:0-7". NULL: there is no such config. */
static __u64 *config_of(struct event_spec *e, const char *text, const char **ret_bits)
{
	static const char *const names[] = { "config", "config1", "config2" };
	__u64 *const configs[] = { &e->config, &e->config1, &e->config2 };
	size_t len = strcspn(text, ":");

	*ret_bits = text[len] ? text + len + 1 : "0-63";
	for (unsigned i = 0; i < 3; i++) {
		if (strlen(names[i]) == len && !strncmp(names[i], text, len))
			return configs[i];
	}
	return NULL;
}

static int take_field(const struct pmu *p, const char *format, const char *term, const char *value)
{
	const char *bits;
	__u64 *config = config_of(p->event, format, &bits), number;
	char *end;

	if (!config)
		return refuse_term(p, term);
	errno = 0;
	number = value ? strtoull(value, &end, 0) : 1;
	if (value &&
	    (end == value || *end || errno || *value == '-' || (!value[0] || value[0] == ' ')))
		return refuse_value(p, term, value);
	return put_bits(config, bits, number) ? 0 : refuse_value(p, term, value ? value : "1");
}

static int take_terms(const struct pmu *p, const char *text, unsigned depth);

static int take_term(const struct pmu *p, char *term, unsigned depth)
{
	char text[TEXT_MAX], *value = strchr(term, '=');
	const char *bits;

	if (value)
		*value++ = '\0';
	if (!is_name(term))
		return refuse_term(p, term);
	if (value && !strcmp(term, "name") && strlen(value) < sizeof(p->event->name)) {
		strcpy(p->event->name, value);
		return 0;
	}
	if (config_of(p->event, term, &bits) && !strchr(term, ':'))
		return take_field(p, term, term, value);
	if (!value && depth + 1 < DEPTH_MAX && read_line(text, p, "events", term))
		return take_terms(p, text, depth + 1);
	if (read_line(text, p, "format", term))
		return take_field(p, text, term, value);
	return refuse_term(p, term);
}

static int take_terms(const struct pmu *p, const char *text, unsigned depth)
{
	cleanup_free char *copy = strdup(text);
	char *rest = NULL;
	int err = copy ? 0 : -ENOMEM;

	for (char *term = copy ? strtok_r(copy, ",", &rest) : NULL; term && !err;
	     term = strtok_r(NULL, ",", &rest))
		err = take_term(p, term, depth);
	return err;
}

int event_pmu_parse(struct event_spec *e, const char *folder, const char *pmu, const char *terms,
		    char *why, size_t why_size)
{
	const struct pmu p = { e, folder, pmu, why, why_size };
	char text[TEXT_MAX], *end;

	*why = '\0';
	if (!is_name(pmu) || !read_line(text, &p, "type", "")) {
		snprintf(why, why_size, "this machine has no PMU \"%s\"", pmu);
		list(&p, NULL, "; it has ");
		return -ENODEV;
	}
	e->type = (__u32)strtoul(text, &end, 10);
	if (end == text)
		return -EINVAL;
	/* Their events take BPF programs of other kinds. */
	if (e->type == PERF_TYPE_TRACEPOINT || e->type == PERF_TYPE_BREAKPOINT ||
	    !strcmp(pmu, "kprobe") || !strcmp(pmu, "uprobe"))
		return -EOPNOTSUPP;
	e->package_wide = read_line(text, &p, "cpumask", "");
	return take_terms(&p, terms, 0);
}
