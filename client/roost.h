/*
 * libroost: client of the compile daemon roostd.
 *
 *     struct roost_options options = { .size = sizeof options, .start = 1 };
 *     roost *client = roost_new(&options);
 *     struct roost_request request = { .size = sizeof request, .method = "lower", .module = bytes, .module_len = n };
 *     struct roost_reply reply;
 *     if (roost_compile(client, &request, &reply) == ROOST_OK)
 *         use(reply.output, reply.output_len);
 *     else
 *         fprintf(stderr, "%s\n", roost_error(client));
 *     roost_reply_clear(&reply);
 *     roost_free(client);
 *
 * The library depends on libc and jansson. It writes to no file but the socket, raises no signal (SIGPIPE included),
 * installs no handler, and keeps no global state. A handle belongs to one thread at a time; different handles are
 * independent. Every function that takes a handle connects when it is not connected, and requests are repeated once, on
 * a new connection, when the daemon goes away: they have no side effects.
 *
 * Structures start with their size, so that later versions can append members.
 */
#ifndef ROOST_H
#define ROOST_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ROOST_API __attribute__((visibility("default")))

typedef struct roost roost;

enum roost_status {
    ROOST_OK = 0,
    ROOST_USAGE = 1,          /* an argument of the call is wrong */
    ROOST_NOMEM = 2,          /* this process has no memory left */
    ROOST_UNREACHABLE = 3,    /* no daemon answers, and none could be (or should be) started */
    ROOST_TIMEOUT = 4,        /* no answer in time; the request is cancelled */
    ROOST_PROTOCOL = 5,       /* what came back is not a reply */
    ROOST_VERSION = 6,        /* the daemon speaks another major version */
    ROOST_BUSY = 7,           /* the daemon is at one of its limits */
    ROOST_CANCELLED = 8,      /* roost_cancel */
    ROOST_DEADLINE = 9,       /* the daemon gave up at the request's deadline */
    ROOST_TOO_LARGE = 10,     /* a frame is larger than the daemon's limit */
    ROOST_NOT_FOUND = 11,     /* the daemon does not have the module of this digest, and the request brought no bytes */
    ROOST_BAD_MODULE = 12,    /* the module has errors: see reply.diagnostics */
    ROOST_LIMIT = 13,         /* the module reached a limit of the compiler: see reply.diagnostics */
    ROOST_SHUTTING_DOWN = 14, /* the daemon is draining, and a new one could not be reached */
    ROOST_REFUSED = 15,       /* the daemon does not accept the request: wrong option, unknown method */
    ROOST_INTERNAL = 16       /* the daemon failed; never the module's fault */
};

struct roost_options {
    size_t size;             /* sizeof (struct roost_options) */
    const char *socket;      /* path of the socket, or NULL for the default place (see roost_socket_path) */
    int start;               /* not 0: start a daemon when none answers */
    const char *daemon;      /* program to start, or NULL: the one installed with this library, then roostd of PATH */
    unsigned timeout_ms;     /* of every call that names none, connecting included; 0: ten minutes */
    unsigned idle_timeout_s; /* a daemon that we start exits after this long without work; 0: half an hour */
    const char *client;      /* name for the daemon's log, or NULL */
};

struct roost_request {
    size_t size;        /* sizeof (struct roost_request) */
    const char *method; /* "lower", "encode", "convert", "check", "hazards", "explain", "inspect" or "decode" */
    const void *module; /* bytes of the module (decode: to decode), or NULL with a digest */
    size_t module_len;
    const char
        *digest; /* of an earlier reply, or NULL. With module: the bytes travel only when the daemon lacks them */
    const char *format;  /* "klr", "bir-json", or NULL to look at the bytes */
    const char *options; /* text of a JSON object, or NULL */
    unsigned timeout_ms; /* 0: the handle's */
};

/* Filled by every call, in success and failure. All texts are NUL-terminated. */
struct roost_reply {
    char digest[65]; /* of the module; "" in failure */
    char cache[8];   /* "l1", "l2", "l3", "miss" or "merged"; "" in failure */
    int valid;       /* check: 1 when the module has no errors */
    void *output;    /* the result, or NULL */
    size_t output_len;
    void *dumps; /* option print_after: what the passes left, or NULL; lies behind the output */
    size_t dumps_len;
    char *diagnostics; /* text of a JSON array, or NULL; in failure, too */
    char *stats;       /* text of a JSON object, or NULL */
    char *error;       /* in failure: one line, or NULL */
    char verdict[16];  /* hazards: "clean", "findings" or "undecided"; else "" */
};

/* A handle, not yet connected; the texts of options are copied, options may be NULL. NULL when there is no memory or
 * the size is unknown. */
ROOST_API roost *roost_new(const struct roost_options *options);

/* Closes the connection, which cancels its open requests (their callbacks are not called), and frees the handle.
 * Accepts NULL. */
ROOST_API void roost_free(roost *client);

/* Connects and greets. Only needed to learn early whether it works. */
ROOST_API enum roost_status roost_connect(roost *client);

/* Why the last call on this handle failed: one line, "" after a success. Belongs to the handle, until its next call. */
ROOST_API const char *roost_error(const roost *client);

/* A few words for a status. Static. */
ROOST_API const char *roost_strerror(enum roost_status status);

/* Path of the socket that this handle uses, or NULL with roost_error set. Belongs to the handle. */
ROOST_API const char *roost_socket_path(roost *client);

/* The daemon's reply to hello, as the text of a JSON object: version, build id, capabilities, limits. It belongs to the
 * handle, until the next call. */
ROOST_API enum roost_status roost_hello(roost *client, const char **json);

/* Asks whether the daemon answers. */
ROOST_API enum roost_status roost_ping(roost *client);

/* Compiles. Fills reply in any case; the caller clears it. */
ROOST_API enum roost_status roost_compile(roost *client, const struct roost_request *request,
                                          struct roost_reply *reply);

/* Frees what reply holds and zeroes it. Accepts a cleared one. */
ROOST_API void roost_reply_clear(struct roost_reply *reply);

/* The daemon's counters as the text of a JSON object; the caller frees it with free(). */
ROOST_API enum roost_status roost_stats(roost *client, char **json);

/* Asks the daemon to finish its work and exit, and waits until it has. Never starts one. */
ROOST_API enum roost_status roost_shutdown(roost *client);

/*
 * Several requests at a time, in the caller's own loop: wait until roost_fd is readable (or writable, when
 * roost_wants_write says so) or the time of roost_next_timeout has passed, then call roost_dispatch.
 */

/* Called once for each submitted request, from roost_dispatch. The reply belongs to the callback, which clears it; it
 * may submit and cancel requests, and must not free the handle. */
typedef void roost_done(void *user, enum roost_status status, struct roost_reply *reply);

/* Sends a request, or queues it; request->module must stay valid until done is called, the texts are copied. *id (may
 * be NULL) names it for roost_cancel. After a failure done will not be called. */
ROOST_API enum roost_status roost_submit(roost *client, const struct roost_request *request, roost_done *done,
                                         void *user, long long *id);

/* Reads and writes what is possible, and calls back. Waits for up to wait_ms until something happens; 0 does not wait,
 * a negative number waits for as long as it takes. Failures of the connection reach the callbacks, too. */
ROOST_API enum roost_status roost_dispatch(roost *client, int wait_ms);

/* Cancels; done is called with ROOST_CANCELLED, or with the reply that is already on its way. ROOST_NOT_FOUND when no
 * such request is open. */
ROOST_API enum roost_status roost_cancel(roost *client, long long id);

/* Descriptor to poll; -1 while there is no connection. It changes with a reconnection: ask again after each dispatch.
 */
ROOST_API int roost_fd(const roost *client);
/* 1 while something waits to be written. */
ROOST_API int roost_wants_write(const roost *client);
/* Milliseconds until the next request times out, -1 when none is open. */
ROOST_API int roost_next_timeout(const roost *client);
/* How many submitted requests are open. */
ROOST_API size_t roost_open_requests(const roost *client);

#ifdef __cplusplus
}
#endif

#endif
