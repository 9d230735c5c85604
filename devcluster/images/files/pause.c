/* The process that holds a pod's namespaces: does nothing, ends at once when told, and reaps what other containers
 * of the pod leave behind (with shareProcessNamespace it is their process 1). */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void stop(int number) { (void)number; _exit(0); }

static void reap(int number) {
    int before = errno;
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0) {}
    errno = before;
}

int main(void) {
    struct sigaction action = {.sa_handler = stop};
    struct sigaction child = {.sa_handler = reap, .sa_flags = SA_NOCLDSTOP | SA_RESTART};
    if (sigaction(SIGTERM, &action, NULL) || sigaction(SIGINT, &action, NULL) || sigaction(SIGCHLD, &child, NULL))
        return 1;
    for (;;) pause();
}
