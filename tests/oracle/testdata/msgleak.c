/* The kernel keeps each message until it is received. Thirty are sent, of which ten
 * of 1000 bytes and five of 500 bytes remain, unless all are received. It prints
 * the number of the queue; with a second argument it removes that queue. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>

static struct {
	long type;
	char text[1000];
} m = {1};

int main(int argc, char **argv)
{
	int keep = argc > 1 && !strcmp(argv[1], "keep");
	int q = argc > 2 ? atoi(argv[2]) : msgget(IPC_PRIVATE, 0600);

	if (argc > 2)
		return msgctl(q, IPC_RMID, NULL) != 0;
	printf("queue %d\n", q);
	for (int i = 0; i < 20; i++) {
		m.type = 1 + i % 2;
		if (msgsnd(q, &m, 500 * m.type, IPC_NOWAIT))
			return 1;
		if ((!keep || (m.type == 1 && i >= 10)) && msgrcv(q, &m, sizeof m.text, m.type, IPC_NOWAIT) < 0)
			return 1;
	}
	m.type = 3;
	for (int i = 0; i < 10; i++)
		if (msgsnd(q, &m, 100, IPC_NOWAIT) || msgrcv(q, &m, sizeof m.text, m.type, IPC_NOWAIT) < 0)
			return 1;
	return 0;
}
