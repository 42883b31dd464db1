/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/serve/response.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/serve/httpd_library.h"
#include "agent/serve/server.h"
#include "base/data/cleanup.h"

/* data: malloc'ed; the response takes it over. */
static struct MHD_Response *make_response(const struct httpd_library *h, void *data, size_t len,
					  const char *type)
{
	struct MHD_Response *r = h->create_response_from_buffer(len, data, MHD_RESPMEM_MUST_FREE);

	if (!r) {
		free(data);
		return NULL;
	}
	h->add_response_header(r, "Content-Type", type);
	/* A browser must respect the declared type, and store nothing. */
	h->add_response_header(r, "X-Content-Type-Options", "nosniff");
	h->add_response_header(r, "Cache-Control", "no-store");
	return r;
}

/* allow: the methods, for a request with another one; otherwise NULL. */
static enum MHD_Result send_text(const struct httpd_library *h, struct MHD_Connection *c,
				 unsigned status, const char *text, const char *allow)
{
	char *copy = strdup(text);
	struct MHD_Response *r =
		copy ? make_response(h, copy, strlen(copy), "text/plain; charset=utf-8") : NULL;
	enum MHD_Result result = MHD_NO;

	if (!r)
		return MHD_NO;
	if (status == MHD_HTTP_UNAUTHORIZED)
		h->add_response_header(r, "WWW-Authenticate", "Basic realm=\"krait\"");
	if (allow)
		h->add_response_header(r, "Allow", allow);
	result = h->queue_response(c, status, r);
	h->destroy_response(r);
	return result;
}

enum MHD_Result response_send(const struct httpd_library *h, struct MHD_Connection *c,
			      unsigned status, const char *text)
{
	return send_text(h, c, status, text, NULL);
}

enum MHD_Result response_refuse_method(const struct httpd_library *h, struct MHD_Connection *c,
				       bool post)
{
	return send_text(h, c, MHD_HTTP_METHOD_NOT_ALLOWED,
			 post ? "this changes what krait does: only POST is answered\n" :
				"only GET and HEAD are answered\n",
			 post ? "POST" : "GET, HEAD");
}

struct MHD_Response *response_of_file(const struct httpd_library *h, int fd, size_t len,
				      const char *type)
{
	cleanup_free char *data = len <= SERVER_BODY_MAX ? malloc(len + 1) : NULL;
	size_t have = 0;

	while (data && have < len) {
		ssize_t n = pread(fd, data + have, len - have, (off_t)have);

		if (n <= 0)
			return NULL;
		have += (size_t)n;
	}
	return data ? make_response(h, take_ptr(&data), len, type) : NULL;
}
