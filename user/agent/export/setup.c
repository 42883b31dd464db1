/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/export/setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "agent/export/export_kinds.h"
#include "agent/export/secrets.h"
#include "base/system/error.h"
#include "base/files/secret_file.h"

#define TEXT_NONE 0xffffffffU
#define TIMEOUT_MS 10000U
#define LIMIT_MIN (1ULL << 20)

/* A destination's texts, in the order in which they are packed. */
#define TEXT_CNT 8
static char **text_of(struct setup_destination *d, unsigned i)
{
	char **const texts[TEXT_CNT] = { &d->url,   &d->name, &d->headers, &d->token,
					 &d->proxy, &d->ca,   &d->cert,	   &d->key };

	return texts[i];
}

/* ---- from the configuration -------------------------------------------------------------------- */

static const char *path_of(const struct exporter_destination *d)
{
	const struct export_kind_row *row = export_kind_row(d->kind);

	if (d->whole)
		return "";
	if (d->protocol == EXPORT_GRPC && row->grpc_path)
		return row->grpc_path;
	return row->http_path;
}

static int make_url(struct setup_destination *s, const struct exporter_destination *d,
		    struct error *err)
{
	const char *host = strstr(d->url, "://");
	char name[sizeof(((struct exporter_destination_stats *)0)->name)];
	size_t len = strlen(d->url);

	secrets_url_name(d->url, name, sizeof(name));
	if ((strncmp(d->url, "http://", 7) != 0 && strncmp(d->url, "https://", 8) != 0) ||
	    !host[3] || host[3] == '/')
		return error_set(err, EINVAL, EXIT_CODE_USAGE,
				 "%s is not a URL to send profiles to (http:// or https://, and a "
				 "host)",
				 name);
	for (const char *c = d->url; *c; c++)
		if (*c <= ' ' || *c > '~')
			return error_set(err, EINVAL, EXIT_CODE_USAGE,
					 "a URL cannot contain blanks or control characters: %s",
					 name);
	if (!d->whole && strpbrk(d->url, "?#"))
		return error_set(err, EINVAL, EXIT_CODE_USAGE,
				 "a base URL cannot contain a query: %s", name);
	while (!d->whole && d->url[len - 1] == '/')
		len--;
	if (asprintf(&s->url, "%.*s%s", (int)len, d->url, path_of(d)) < 0)
		s->url = NULL;
	if (!s->url)
		return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	secrets_url_name(s->url, name, sizeof(name));
	s->name = strdup(name);
	return s->name ? 0 : error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
}

static int make_headers(struct setup_destination *s, const struct exporter_destination *d,
			struct error *err)
{
	for (unsigned i = 0; i < d->header_cnt; i++) {
		const char *h = d->headers[i], *colon = strchr(h, ':');
		char *longer;

		if (!colon || colon == h || strpbrk(h, "\r\n") ||
		    strcspn(h, " \t") < (size_t)(colon - h))
			return error_set(err, EINVAL, EXIT_CODE_USAGE,
					 "header %u for %s is not of the form Name: value", i + 1,
					 s->name);
		if (asprintf(&longer, "%s%s%s", s->headers ? s->headers : "",
			     s->headers ? "\n" : "", h) < 0)
			return error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
		free(s->headers);
		s->headers = longer;
	}
	return 0;
}

/* The same for the same destination, whatever credentials are used. */
static __u64 cursor_key(const struct setup_destination *d)
{
	__u64 low = crc32_z(d->kind, (const Bytef *)d->name, strlen(d->name));
	__u64 high = adler32_z(d->protocol + 1, (const Bytef *)d->name, strlen(d->name));

	return (high << 32 | low) + 1;
}

static int make_destination(struct setup_destination *s, const struct exporter_destination *d,
			    struct error *err)
{
	const struct export_kind_row *row = export_kind_row(d->kind);
	int r = make_url(s, d, err);

	s->kind = d->kind;
	s->protocol = d->protocol;
	s->compression = d->compression;
	s->timeout_ms = d->timeout_ms ? d->timeout_ms : TIMEOUT_MS;
	if (!r && d->protocol == EXPORT_GRPC && !row->grpc_path)
		r = error_set(err, EINVAL, EXIT_CODE_USAGE, "krait sends %s over HTTP only: %s",
			      row->name, s->name);
	if (!r && !d->cert_file != !d->key_file)
		r = error_set(err, EINVAL, EXIT_CODE_USAGE,
			      "a client certificate needs its key, and a key its certificate: %s",
			      s->name);
	if (!r)
		r = make_headers(s, d, err);
	if (!r && d->proxy && !(s->proxy = strdup(d->proxy)))
		r = error_set(err, ENOMEM, EXIT_CODE_KERNEL, "out of memory");
	if (!r)
		r = secret_file_token(&s->token, d->token_file, err);
	if (!r)
		r = secret_file_read(&s->ca, d->ca_file, "CA file", false, err);
	if (!r)
		r = secret_file_read(&s->cert, d->cert_file, "client certificate", false, err);
	if (!r)
		r = secret_file_read(&s->key, d->key_file, "client key", true, err);
	if (!r)
		s->key_of_cursor = cursor_key(s);
	return r;
}

static __u64 limit_of(__u64 asked, __u64 otherwise)
{
	return !asked ? otherwise : asked < LIMIT_MIN ? LIMIT_MIN : asked;
}

int setup_make(struct setup *s, const struct exporter_config *config, struct error *err)
{
	int r = 0;

	*s = (struct setup){ 0 };
	if (!config->destination_cnt || config->destination_cnt > EXPORT_DESTINATIONS_MAX)
		return error_set(err, EINVAL, EXIT_CODE_USAGE, "1 to %u destinations, not %u",
				 EXPORT_DESTINATIONS_MAX, config->destination_cnt);
	for (unsigned i = 0; i < config->destination_cnt && !r; i++) {
		s->destination_cnt = i + 1;
		r = make_destination(&s->destinations[i], &config->destinations[i], err);
		for (unsigned k = 0; k < i && !r; k++)
			if (s->destinations[k].key_of_cursor == s->destinations[i].key_of_cursor)
				r = error_set(err, EEXIST, EXIT_CODE_USAGE,
					      "%s is a destination twice", s->destinations[i].name);
	}
	s->disk_limit = config->spool_dir ? limit_of(config->spool_bytes, EXPORTER_SPOOL_BYTES) : 0;
	s->memory_limit = limit_of(config->memory_bytes, EXPORTER_MEMORY_BYTES);
	if (r)
		setup_free(s);
	return r;
}

void setup_free(struct setup *s)
{
	for (unsigned i = 0; i < s->destination_cnt; i++) {
		for (unsigned t = 0; t < TEXT_CNT; t++) {
			char **text = text_of(&s->destinations[i], t);

			if (*text)
				explicit_bzero(*text, strlen(*text));
			free(*text);
		}
	}
	*s = (struct setup){ 0 };
}

/* ---- on its way -------------------------------------------------------------------------------- */

static void put_text(struct bytes *b, const char *text)
{
	bytes_u32(b, text ? (__u32)strlen(text) : TEXT_NONE);
	if (text)
		bytes_put(b, text, strlen(text));
}

void setup_pack(const struct setup *s, struct bytes *b)
{
	bytes_u32(b, s->destination_cnt);
	bytes_u64(b, s->disk_limit);
	bytes_u64(b, s->memory_limit);
	for (unsigned i = 0; i < s->destination_cnt; i++) {
		struct setup_destination d = s->destinations[i];

		bytes_u32(b, d.kind);
		bytes_u32(b, d.protocol);
		bytes_u32(b, d.compression);
		bytes_u32(b, d.timeout_ms);
		bytes_u64(b, d.key_of_cursor);
		for (unsigned t = 0; t < TEXT_CNT; t++)
			put_text(b, *text_of(&d, t));
	}
}

struct input {
	const __u8 *data;
	size_t left;
	int err;
};

static void get(struct input *in, void *ret, size_t len)
{
	if (in->err || in->left < len) {
		in->err = in->err ? in->err : -EPROTO;
		memset(ret, 0, len);
		return;
	}
	memcpy(ret, in->data, len);
	in->data += len;
	in->left -= len;
}

static __u32 get_u32(struct input *in)
{
	__u32 value;

	get(in, &value, sizeof(value));
	return value;
}

static __u64 get_u64(struct input *in)
{
	__u64 value;

	get(in, &value, sizeof(value));
	return value;
}

static char *get_text(struct input *in)
{
	__u32 len = get_u32(in);
	char *text;

	if (in->err || len == TEXT_NONE)
		return NULL;
	if (len > in->left) {
		in->err = -EPROTO;
		return NULL;
	}
	text = strndup((const char *)in->data, len);
	if (!text)
		in->err = -ENOMEM;
	in->data += len;
	in->left -= len;
	return text;
}

int setup_unpack(struct setup *s, const void *data, size_t len)
{
	struct input in = { .data = data, .left = len };
	__u32 cnt = get_u32(&in);

	*s = (struct setup){ .disk_limit = get_u64(&in) };
	s->memory_limit = get_u64(&in);
	if (cnt > EXPORT_DESTINATIONS_MAX)
		in.err = -EPROTO;
	for (unsigned i = 0; i < cnt && !in.err; i++) {
		struct setup_destination *d = &s->destinations[i];

		s->destination_cnt = i + 1;
		d->kind = get_u32(&in);
		d->protocol = get_u32(&in);
		d->compression = get_u32(&in);
		d->timeout_ms = get_u32(&in);
		d->key_of_cursor = get_u64(&in);
		for (unsigned t = 0; t < TEXT_CNT; t++)
			*text_of(d, t) = get_text(&in);
		if (d->kind >= EXPORT_KIND_CNT || !d->url || !d->name)
			in.err = in.err ? in.err : -EPROTO;
	}
	if (in.err)
		setup_free(s);
	return in.err;
}
