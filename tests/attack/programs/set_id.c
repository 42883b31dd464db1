// SPDX-License-Identifier: BSD-2-Clause
/* A set-id program that waits, as su does for a password; ends with its parent. */
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sleep(3);
	return 0;
}
