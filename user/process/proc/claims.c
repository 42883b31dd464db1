/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/proc/claims.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "process/proc/cgroup.h"
#include "process/proc/context.h"
#include "process/proc/proc.h"
#include "base/data/cleanup.h"

#define SERVICE_NAME "OTEL_SERVICE_NAME"
#define RESOURCE_ATTRIBUTES "OTEL_RESOURCE_ATTRIBUTES"

#define KEY_CHARS                                                                                  \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"                                     \
	"0123456789._-/"

/* ---- the environment -------------------------------------------------------------------------- */

/* The first value of a name counts, as for getenv(). */
static void begin_value(struct claims_scan *s, struct claims *ret)
{
	s->in_value = true;
	s->to = NULL;
	s->len = 0;
	s->name[s->name_len] = '\0';
	if (!strcmp(s->name, SERVICE_NAME) && !s->has_name) {
		s->to = ret->service_name;
		s->size = sizeof(ret->service_name);
		s->has_name = true;
	} else if (!strcmp(s->name, RESOURCE_ATTRIBUTES) && !s->has_attributes) {
		s->to = ret->attributes;
		s->size = sizeof(ret->attributes);
		s->has_attributes = true;
	}
}

static void end_variable(struct claims_scan *s)
{
	if (s->to)
		s->to[s->len] = '\0';
	s->to = NULL;
	s->in_value = false;
	s->name_len = 0;
}

static void take_name(struct claims_scan *s, struct claims *ret, char c)
{
	if (c == '=')
		begin_value(s, ret);
	else if (s->name_len < sizeof(s->name) - 1)
		s->name[s->name_len++] = c;
	else
		s->name[0] = '='; /* longer than any wanted name: it is none of them */
}

void claims_scan(struct claims_scan *s, struct claims *ret, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!data[i])
			end_variable(s);
		else if (!s->in_value)
			take_name(s, ret, data[i]);
		else if (s->to && s->len < s->size - 1)
			s->to[s->len++] = data[i];
		else if (s->to == ret->attributes)
			ret->attributes_cut = true;
	}
}

void claims_scan_end(struct claims_scan *s, struct claims *ret)
{
	if (!s->to)
		return;
	if (s->to == ret->attributes)
		ret->attributes_cut = true;
	s->len = 0;
	end_variable(s);
}

static int read_environ(int dir, struct claims *ret)
{
	struct claims_scan scan = { 0 };
	char piece[4096];
	size_t sum = 0;
	cleanup_close int fd = openat(dir, "environ", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	while (sum < CLAIMS_ENVIRON_MAX) {
		ssize_t n = read(fd, piece, sizeof(piece));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		claims_scan(&scan, ret, piece, (size_t)n);
		sum += (size_t)n;
	}
	claims_scan_end(&scan, ret);
	return 0;
}

int claims_read_at(int dir, struct claims *ret)
{
	char groups[CGROUP_TEXT_MAX];
	ssize_t n;
	int err;

	memset(ret, 0, sizeof(*ret));
	err = read_environ(dir, ret);
	n = readlinkat(dir, "exe", ret->exe, sizeof(ret->exe) - 1);
	ret->exe[n > 0 ? n : 0] = '\0';
	if (proc_read(dir, "cgroup", groups, sizeof(groups)) > 0)
		cgroup_path(groups, ret->cgroup, sizeof(ret->cgroup));
	return err;
}

/* ---- attributes ------------------------------------------------------------------------------- */

struct pair {
	char key[CLAIMS_KEY_MAX], value[CLAIMS_VALUE_MAX];
};

static int hex_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static int decode(const char *text, size_t len, char *ret, size_t size)
{
	size_t at = 0;

	for (size_t i = 0; i < len; i++) {
		int high, low;

		if (at == size - 1)
			return -EINVAL;
		if (text[i] != '%') {
			ret[at++] = text[i];
			continue;
		}
		high = i + 2 < len ? hex_of(text[i + 1]) : -1;
		low = high >= 0 ? hex_of(text[i + 2]) : -1;
		/* No NUL either, since it would end the text. */
		if (low < 0 || !(high | low))
			return -EINVAL;
		ret[at++] = (char)(high << 4 | low);
		i += 2;
	}
	ret[at] = '\0';
	return 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void trim(const char **text, size_t *len)
{
	while (*len && is_blank(**text)) {
		++*text;
		--*len;
	}
	while (*len && is_blank((*text)[*len - 1]))
		--*len;
}

static int parse_pair(const char *text, size_t len, struct pair *ret)
{
	const char *equals = memchr(text, '=', len), *value;
	size_t key_len, value_len;

	if (!equals)
		return -EINVAL;
	key_len = (size_t)(equals - text);
	value = equals + 1;
	value_len = len - key_len - 1;
	trim(&text, &key_len);
	trim(&value, &value_len);
	if (!key_len || key_len >= sizeof(ret->key) || strspn(text, KEY_CHARS) < key_len)
		return -EINVAL;
	memcpy(ret->key, text, key_len);
	ret->key[key_len] = '\0';
	return decode(value, value_len, ret->value, sizeof(ret->value));
}

int claims_each(const char *attributes, claims_fn fn, void *ctx)
{
	struct pair pairs[CLAIMS_MAX];
	int cnt = 0;

	for (const char *text = attributes; *text;) {
		const char *end = strchrnul(text, ',');
		size_t len = (size_t)(end - text);
		const char *trimmed = text;

		trim(&trimmed, &len);
		if (len && (cnt == CLAIMS_MAX || parse_pair(trimmed, len, &pairs[cnt++])))
			return -EINVAL;
		text = *end ? end + 1 : end;
	}
	for (int i = 0; i < cnt; i++)
		fn(ctx, pairs[i].key, pairs[i].value);
	return cnt;
}
