/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/roles.h"

#include "symbol/parser_jobs.h"
#include "core/core_protocol.h"
#include "export/exporter_serve.h"
#include "inject/inject.h"
#include "target/fetcher_serve.h"
#include "perfmap/mapper.h"
#include "serve/server_serve.h"
#include "target/prober_serve.h"
#include "worker/role.h"

static const struct role roles[] = {
	{ "core", core_serve },	      { "exporter", exporter_serve },
	{ "fetcher", fetcher_serve }, { "injector", inject_serve },
	{ "mapper", mapper_serve },   { "parser", parser_serve, .urgent = true },
	{ "server", server_serve },   { "prober", prober_serve, .urgent = true },
};

const struct role *roles_find(const char *argv0)
{
	return role_find(roles, sizeof(roles) / sizeof(roles[0]), argv0);
}
