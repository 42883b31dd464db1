/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/serve/callers.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>

#include "base/data/hash.h"

void callers_init(struct callers *c)
{
	/* Without randomness callers that share a bucket are known. */
	if (getrandom(&c->seed, sizeof(c->seed), GRND_NONBLOCK) != sizeof(c->seed))
		c->seed = 0;
	c->diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
	c->all = allowance_of(CALLERS_UNITS_AT_ONCE, CALLERS_UNITS_PER_SEC);
	for (unsigned i = 0; i < CALLERS_BUCKETS; i++)
		c->each[i] = allowance_of(CALLERS_AT_ONCE, CALLERS_PER_SEC);
}

/* ---- who calls --------------------------------------------------------------------------------- */

/* An address in the network: IPv4 in the first bytes, or IPv6. */
struct caller_address {
	__u8 family;
	__be16 port;
	__be32 bytes[4];
};

static bool take_address(struct caller_address *ret, const struct sockaddr *address, socklen_t len)
{
	const struct sockaddr_in *v4 = (const void *)address;
	const struct sockaddr_in6 *v6 = (const void *)address;

	*ret = (struct caller_address){ .family = (__u8)address->sa_family };
	if (address->sa_family == AF_INET && len >= sizeof(*v4)) {
		ret->port = v4->sin_port;
		ret->bytes[0] = v4->sin_addr.s_addr;
		return true;
	}
	if (address->sa_family != AF_INET6 || len < sizeof(*v6))
		return false;
	ret->port = v6->sin6_port;
	memcpy(ret->bytes, &v6->sin6_addr, sizeof(ret->bytes));
	return true;
}

/*
 * Whose the socket at the other end is, if that is on this machine (sock_diag(7), an exact look-up).
 * Who calls an address of this machine calls from the same one, unless he takes pains: then he is
 * an address like others. Returns 0 or -ENOENT.
 */
static int user_of(int diag, const struct caller_address *from, unsigned port, __u32 *ret)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 ask;
	} m = {
		.head = { .nlmsg_len = sizeof(m),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.ask = { .sdiag_family = from->family,
			 .sdiag_protocol = IPPROTO_TCP,
			 .idiag_states = ~0U,
			 .id = { .idiag_sport = from->port,
				 .idiag_dport = htons((__u16)port),
				 .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
	};
	struct {
		struct nlmsghdr head;
		struct inet_diag_msg said;
		__u8 rest[256];
	} answer;

	memcpy(m.ask.id.idiag_src, from->bytes, sizeof(from->bytes));
	memcpy(m.ask.id.idiag_dst, from->bytes, sizeof(from->bytes));
	if (diag < 0 || send(diag, &m, sizeof(m), 0) != sizeof(m) ||
	    recv(diag, &answer, sizeof(answer), 0) <
		    (ssize_t)(sizeof(answer.head) + sizeof(answer.said)) ||
	    answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return -ENOENT;
	*ret = answer.said.idiag_uid;
	return 0;
}

/* Who has one IPv6 address has at least 64 bits of them, and every user has all of 127.0.0.0/8. */
static __u64 net_of(const struct caller_address *from)
{
	static const __u8 mapped[12] = { [10] = 0xff, 0xff };
	__be32 v4 = from->bytes[0];
	__u64 net;

	memcpy(&net, from->bytes, sizeof(net));
	if (from->family == AF_INET6 && memcmp(from->bytes, mapped, sizeof(mapped)) != 0)
		return net;
	if (from->family == AF_INET6)
		v4 = from->bytes[3];
	return ntohl(v4) >> 24 == IN_LOOPBACKNET ? IN_LOOPBACKNET : v4;
}

unsigned callers_find(const struct callers *c, const struct sockaddr *address, socklen_t len,
		      unsigned port)
{
	struct caller_address from;
	__u64 hash = c->seed;
	__u32 uid;

	if (!take_address(&from, address, len))
		return 0;
	hash = user_of(c->diag, &from, port, &uid) ? hash_step(hash, net_of(&from)) :
						     hash_step(hash_step(hash, 1), uid);
	return (unsigned)(hash >> 32) % CALLERS_BUCKETS;
}

/* ---- how often --------------------------------------------------------------------------------- */

bool callers_take(struct callers *c, unsigned bucket)
{
	struct allowance *each = &c->each[bucket % CALLERS_BUCKETS];
	bool good = allowance_has(each);

	if (good)
		allowance_take(each);
	c->all.left -= good ? CALLERS_CALL : 1;
	return good;
}

bool callers_may_call(struct callers *c)
{
	return allowance_has(&c->all);
}

__u64 callers_pause_ms(const struct callers *c)
{
	return allowance_ms(&c->all);
}
