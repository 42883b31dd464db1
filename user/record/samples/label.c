/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/label.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "process/proc/context.h"
#include "base/text/printable.h"
#include "base/text/short_path.h"

static const struct {
	const char *name;
	enum label_part part;
} parts_by_name[] = {
	{ "pid", LABEL_PID },	      { "nspid", LABEL_NSPID },		{ "user", LABEL_USER },
	{ "script", LABEL_SCRIPT },   { "container", LABEL_CONTAINER }, { "cgroup", LABEL_CGROUP },
	{ "command", LABEL_COMMAND },
};

const char *label_part_name(unsigned i)
{
	return i < sizeof(parts_by_name) / sizeof(parts_by_name[0]) ? parts_by_name[i].name : NULL;
}

unsigned label_part(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(parts_by_name) / sizeof(parts_by_name[0]); i++) {
		if (strlen(parts_by_name[i].name) == len &&
		    !memcmp(parts_by_name[i].name, name, len))
			return parts_by_name[i].part;
	}
	return 0;
}

/* A folder that is run (python DIR) keeps the name that the user typed. */
static const char *script_name(const char *path)
{
	const char *name = base_name(path);

	return *name ? name : path;
}

/* A script that is executed directly: the kernel keeps 15 bytes of its name (TASK_COMM_LEN). */
static bool says_it(const char *comm, const char *script)
{
	size_t len = strlen(comm);
	const char *name = script_name(script);

	return !strncmp(comm, name, len) && (!name[len] || len == 15);
}

static void put(FILE *out, const char **separator, const char *what, const char *raw)
{
	char text[256];

	printable_into(text, sizeof(text), raw);
	fprintf(out, "%s%s%s", *separator, what, text);
	*separator = ", ";
}

static void put_name(FILE *out, const char *raw)
{
	char text[256];

	printable_into(text, sizeof(text), raw);
	fputs(text, out);
}

static void put_number(FILE *out, const char **separator, const char *what, unsigned long number)
{
	fprintf(out, "%s%s%lu", *separator, what, number);
	*separator = ", ";
}

void container_label(char *buf, size_t size, const struct container *c)
{
	char id[64];

	printable_into(id, sizeof(id), c->id);
	snprintf(buf, size, "%s %.12s", c->runtime, id);
}

static void put_container(FILE *out, const char **separator, const struct container *c)
{
	char text[128];

	container_label(text, sizeof(text), c);
	fprintf(out, "%s%s", *separator, text);
	*separator = ", ";
}

void process_label(char *buf, size_t size, unsigned parts, const char *comm, int pid,
		   const struct context *context)
{
	const char *separator = " [";
	FILE *out = fmemopen(buf, size, "w");

	printable_into(buf, size, comm);
	if (!out)
		return;
	put_name(out, comm);
	if (parts & LABEL_PID)
		put_number(out, &separator, "pid ", (unsigned long)pid);
	if (parts & LABEL_NSPID && context->ns_pid)
		put_number(out, &separator, "nspid ", (unsigned long)context->ns_pid);
	if (parts & LABEL_USER && context->known)
		put_number(out, &separator, "user ", context->uid);
	if (parts & LABEL_SCRIPT && context->script[0] && !says_it(comm, context->script))
		put(out, &separator, "", script_name(context->script));
	if (parts & LABEL_CONTAINER && context->container.id[0])
		put_container(out, &separator, &context->container);
	if (parts & LABEL_CGROUP && context->cgroup[0])
		put(out, &separator, "", context->cgroup);
	if (*separator == ',')
		fputc(']', out);
	fclose(out);
	buf[size - 1] = '\0';
}
