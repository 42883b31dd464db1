/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/broker/dial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/worker/channel.h"

/* systemd may have to start it. */
#define HELLO_MS 10000

const char *dial_path(void)
{
	const char *path = secure_getenv("KRAIT_SOCKET");

	if (path && *path)
		return path;
	return access(BROKER_ALL_SOCKET, W_OK) ? BROKER_SOCKET : BROKER_ALL_SOCKET;
}

bool dial_is_possible(void)
{
	return secure_getenv("KRAIT_SOCKET") || !access(dial_path(), F_OK);
}

int dial_take(int fd, struct broker_answer *ret, int *ret_fd, int timeout_ms, struct error *err)
{
	int result = channel_take(fd, ret, sizeof(*ret), ret_fd, timeout_ms);

	if (result == -EPIPE)
		return error_set(err, EPIPE, EXIT_CODE_KERNEL, "krait's service has ended");
	if (result || ret->version != BROKER_VERSION)
		return error_set(
			err, EPROTO, EXIT_CODE_KERNEL,
			"krait's service does not answer as this krait expects: another version?");
	ret->text[sizeof(ret->text) - 1] = '\0';
	if (ret->kind == BROKER_REFUSED)
		return error_set(err, EPERM,
				 ret->code == EXIT_CODE_KERNEL ? EXIT_CODE_KERNEL :
								 EXIT_CODE_PERMISSION,
				 "krait's service refuses: %s%s", ret->text, error_sudo());
	return 0;
}

int dial(struct broker_answer *ret_hello, struct error *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	cleanup_close int fd = -1, sent = -1;
	const char *path = dial_path();

	if (strlen(path) >= sizeof(addr.sun_path))
		return error_set(err, ENAMETOOLONG, EXIT_CODE_USAGE, "KRAIT_SOCKET is too long");
	memcpy(addr.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return error_set(err, errno, EXIT_CODE_PERMISSION, "krait's service at %s: %s%s",
				 path, strerror(errno), error_sudo());
	if (dial_take(fd, ret_hello, &sent, HELLO_MS, err))
		return -1;
	return take_fd(&fd);
}
