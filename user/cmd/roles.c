/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/roles.h"

#include "native/names/demangle.h"
#include "native/names/parser_jobs.h"
#include "look/core/core_protocol.h"
#include "agent/export/exporter_serve.h"
#include "look/exec/inject.h"
#include "process/parser/fetcher_serve.h"
#include "capture/perfmap/mapper.h"
#include "agent/serve/server_serve.h"
#include "process/probe/prober_serve.h"
#include "base/worker/role.h"

static const struct role roles[] = {
	{ "core", core_serve },
	{ "exporter", exporter_serve },
	{ "fetcher", fetcher_serve },
	{ "injector", inject_serve },
	{ "mapper", mapper_serve },
	{ "parser", parser_serve, .urgent = true, .prepare = demangle_prepare },
	{ "server", server_serve },
	{ "prober", prober_serve, .urgent = true },
};

const struct role *roles_find(const char *argv0)
{
	return role_find(roles, sizeof(roles) / sizeof(roles[0]), argv0);
}
