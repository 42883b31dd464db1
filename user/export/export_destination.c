/* SPDX-License-Identifier: BSD-2-Clause */
#include "export/export_destination.h"

#include <stdlib.h>
#include <string.h>

static char *copy_text(const char *text, bool *failed)
{
	char *copy = text ? strdup(text) : NULL;

	*failed |= text && !copy;
	return copy;
}

void export_destination_copy(struct exporter_destination *to,
			     const struct exporter_destination *from, bool *failed)
{
	char **headers = calloc(from->header_cnt + 1, sizeof(*headers));

	*to = *from;
	to->url = copy_text(from->url, failed);
	to->token_file = copy_text(from->token_file, failed);
	to->ca_file = copy_text(from->ca_file, failed);
	to->cert_file = copy_text(from->cert_file, failed);
	to->key_file = copy_text(from->key_file, failed);
	to->proxy = copy_text(from->proxy, failed);
	*failed |= !headers;
	for (unsigned i = 0; headers && i < from->header_cnt; i++)
		headers[i] = copy_text(from->headers[i], failed);
	to->headers = (const char *const *)headers;
}

void export_destination_free(struct exporter_destination *d)
{
	const char *const texts[] = { d->url,	    d->token_file, d->ca_file,
				      d->cert_file, d->key_file,   d->proxy };

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free((void *)texts[i]);
	for (unsigned i = 0; d->headers && i < d->header_cnt; i++)
		free((void *)d->headers[i]);
	free((void *)d->headers);
}
