/*
 * The yardstick of warm round trips: a libuv server that answers every request frame with a canned reply.
 *
 * usage: bench_echo SOCKET REPLY_FILE
 *
 * It does what any server on this loop must do at least: read, find the frame's end, write the reply. A request is the
 * 8-byte header of the protocol with the two lengths and that many bytes; the reply file is sent as it is. Ends at
 * SIGTERM.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

static char *reply;
static size_t reply_len;

struct peer {
    uv_pipe_t pipe;
    char buf[65536];
    size_t len;
};

static void on_close(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_write(uv_write_t *req, int status)
{
    (void)status;
    free(req);
}

static void send_reply(struct peer *peer)
{
    uv_buf_t buf = uv_buf_init(reply, (unsigned)reply_len);
    int n = uv_try_write((uv_stream_t *)&peer->pipe, &buf, 1);
    size_t sent = n > 0 ? (size_t)n : 0;
    if (sent == reply_len)
        return;
    uv_write_t *req = malloc(sizeof(*req));
    if (!req)
        exit(1);
    buf = uv_buf_init(reply + sent, (unsigned)(reply_len - sent));
    uv_write(req, (uv_stream_t *)&peer->pipe, &buf, 1, on_write);
}

static size_t frame_bytes(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;
    size_t json = (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
    size_t payload = (size_t)b[4] << 24 | (size_t)b[5] << 16 | (size_t)b[6] << 8 | b[7];
    return 8 + json + payload;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    struct peer *peer = handle->data;
    *buf = uv_buf_init(peer->buf + peer->len, (unsigned)(sizeof(peer->buf) - peer->len));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    (void)buf;
    struct peer *peer = stream->data;
    if (n < 0) {
        uv_close((uv_handle_t *)stream, on_close);
        return;
    }
    peer->len += (size_t)n;
    size_t at = 0;
    while (peer->len - at >= 8 && peer->len - at >= frame_bytes(peer->buf + at)) {
        at += frame_bytes(peer->buf + at);
        send_reply(peer);
    }
    memmove(peer->buf, peer->buf + at, peer->len - at);
    peer->len -= at;
}

static void on_connection(uv_stream_t *server, int status)
{
    struct peer *peer = calloc(1, sizeof(*peer));
    if (status < 0 || !peer)
        exit(1);
    uv_pipe_init(server->loop, &peer->pipe, 0);
    peer->pipe.data = peer;
    if (uv_accept(server, (uv_stream_t *)&peer->pipe) == 0)
        uv_read_start((uv_stream_t *)&peer->pipe, on_alloc, on_read);
}

static void on_signal(uv_signal_t *handle, int signum)
{
    (void)signum;
    uv_stop(handle->loop);
}

static int load_reply(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        return -1;
    long size = ftell(f);
    rewind(f);
    reply_len = size > 0 ? (size_t)size : 0;
    reply = malloc(reply_len + 1);
    int ok = reply && fread(reply, 1, reply_len, f) == reply_len;
    fclose(f);
    return ok ? 0 : -1;
}

int main(int argc, char **argv)
{
    if (argc != 3 || load_reply(argv[2]) != 0) {
        fprintf(stderr, "usage: bench_echo SOCKET REPLY_FILE\n");
        return 2;
    }
    uv_loop_t *loop = uv_default_loop();
    uv_pipe_t server;
    uv_signal_t term;
    unlink(argv[1]);
    signal(SIGPIPE, SIG_IGN);
    uv_pipe_init(loop, &server, 0);
    if (uv_pipe_bind(&server, argv[1]) != 0 || uv_listen((uv_stream_t *)&server, 128, on_connection) != 0) {
        fprintf(stderr, "bench_echo: cannot listen on %s\n", argv[1]);
        return 1;
    }
    uv_signal_init(loop, &term);
    uv_signal_start(&term, on_signal, SIGTERM);
    uv_run(loop, UV_RUN_DEFAULT);
    return 0;
}
