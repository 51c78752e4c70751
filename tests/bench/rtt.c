/*
 * Round trips over a Unix socket, one outstanding request a connection.
 *
 * usage: bench_rtt SOCKET HELLO_FILE REQUEST_FILE CONNECTIONS SECONDS [REPLY_OUT]
 *
 * Sends the frame of HELLO_FILE once a connection (empty file: none) and then the frame of REQUEST_FILE again and
 * again; prints "REPLIES_PER_SECOND MICROSECONDS_PER_ROUND_TRIP REPLY_BYTES". REPLY_OUT receives one raw reply, for the
 * yardstick server.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CONNECTIONS = 256, BUF_BYTES = 1 << 20 };

struct bytes {
    char *data;
    size_t len;
};

struct peer {
    int fd;
    unsigned char header[8];
    size_t got; /* bytes of the current reply, header included */
    size_t want;
};

static char scratch[BUF_BYTES];

static void die(const char *what)
{
    fprintf(stderr, "bench_rtt: %s: %s\n", what, strerror(errno));
    exit(1);
}

static struct bytes load(const char *path)
{
    struct bytes b = { malloc(BUF_BYTES), 0 };
    FILE *f = fopen(path, "rb");
    if (!f || !b.data)
        die(path);
    b.len = fread(b.data, 1, BUF_BYTES, f);
    fclose(f);
    return b;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int dial(const char *path)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (strlen(path) >= sizeof(addr.sun_path))
        die("socket path too long");
    memcpy(addr.sun_path, path, strlen(path) + 1);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0)
        die("connect");
    return fd;
}

static void send_all(int fd, struct bytes b)
{
    for (size_t at = 0; at < b.len;) {
        ssize_t n = write(fd, b.data + at, b.len - at);
        if (n <= 0)
            die("write");
        at += (size_t)n;
    }
}

static size_t frame_bytes(const unsigned char *h)
{
    size_t json = (size_t)h[0] << 24 | (size_t)h[1] << 16 | (size_t)h[2] << 8 | h[3];
    size_t payload = (size_t)h[4] << 24 | (size_t)h[5] << 16 | (size_t)h[6] << 8 | h[7];
    return 8 + json + payload;
}

/* Reads what is there; true when a whole reply has arrived. Header bytes are kept, the rest is dropped (or written to
 * out). */
static int take(struct peer *p, FILE *out)
{
    size_t room = p->got < 8 ? 8 - p->got : p->want - p->got;
    ssize_t n = read(p->fd, scratch, room < BUF_BYTES ? room : BUF_BYTES);
    if (n <= 0)
        die("read");
    if (p->got < 8)
        memcpy(p->header + p->got, scratch, (size_t)n);
    if (out)
        fwrite(scratch, 1, (size_t)n, out);
    p->got += (size_t)n;
    if (p->got == 8)
        p->want = frame_bytes(p->header);
    if (p->got < 8 || p->got < p->want)
        return 0;
    p->got = 0;
    return 1;
}

static void take_whole(struct peer *p, FILE *out)
{
    while (!take(p, out))
        continue;
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: bench_rtt SOCKET HELLO_FILE REQUEST_FILE CONNECTIONS SECONDS [REPLY_OUT]\n");
        return 2;
    }
    struct bytes hello = load(argv[2]), request = load(argv[3]);
    int count = atoi(argv[4]);
    double seconds = atof(argv[5]);
    static struct peer peers[MAX_CONNECTIONS];
    static struct pollfd fds[MAX_CONNECTIONS];
    if (count < 1 || count > MAX_CONNECTIONS)
        return 2;
    for (int i = 0; i < count; i++) {
        peers[i].fd = dial(argv[1]);
        fds[i] = (struct pollfd){ .fd = peers[i].fd, .events = POLLIN };
        if (hello.len) {
            send_all(peers[i].fd, hello);
            take_whole(&peers[i], NULL);
        }
        send_all(peers[i].fd, request);
        FILE *out = i == 0 && argc > 6 ? fopen(argv[6], "wb") : NULL;
        take_whole(&peers[i], out);
        if (out)
            fclose(out);
    }
    uint64_t replies = 0;
    double start = now(), end = start;
    for (int i = 0; i < count; i++)
        send_all(peers[i].fd, request);
    while (end - start < seconds) {
        if (poll(fds, (nfds_t)count, 1000) <= 0)
            die("poll");
        for (int i = 0; i < count; i++) {
            if (!(fds[i].revents & (POLLIN | POLLHUP)) || !take(&peers[i], NULL))
                continue;
            replies++;
            send_all(peers[i].fd, request);
        }
        end = now();
    }
    printf("%.0f %.2f %zu\n", (double)replies / (end - start), (end - start) * 1e6 * count / (double)replies,
           peers[0].want);
    return 0;
}
