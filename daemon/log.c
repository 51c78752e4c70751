#include "daemon/log.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 2048
/* choice: a burst of warnings, and the pace at which further ones are let through */
#define BURST_LINES    20
#define REFILL_SECONDS 3

static struct {
    enum log_level level;
    bool journal;
    int64_t refilled; /* monotonic seconds */
    int64_t lines;    /* that may still be written */
    uint64_t dropped;
} logger = { .level = LOG_LEVEL_INFO, .lines = BURST_LINES };

void log_init(enum log_level level, bool journal)
{
    logger.level = level;
    logger.journal = journal;
}

static bool let_through(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t refill = ((int64_t)now.tv_sec - logger.refilled) / REFILL_SECONDS;
    if (refill > 0) {
        logger.lines = logger.lines + refill > BURST_LINES ? BURST_LINES : logger.lines + refill;
        logger.refilled = now.tv_sec;
    }
    if (logger.lines == 0) {
        logger.dropped++;
        return false;
    }
    logger.lines--;
    return true;
}

/* Parts of a line come from clients: none of them ends it or steers a terminal. */
static void disarm(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

void log_line(enum log_level level, const char *fmt, ...)
{
    static const struct {
        const char *priority; /* syslog's numbers, see sd-daemon(3) */
        const char *word;
    } levels[] = { { "<3>", "error: " }, { "<4>", "warning: " }, { "<6>", "" }, { "<7>", "debug: " } };
    if (level > logger.level || (level == LOG_LEVEL_WARNING && !let_through()))
        return;
    char line[LINE_BYTES];
    int len =
        snprintf(line, sizeof line, "%sroostd: %s", logger.journal ? levels[level].priority : "", levels[level].word);
    va_list args;
    va_start(args, fmt);
    vsnprintf(line + len, sizeof line - (size_t)len, fmt, args);
    va_end(args);
    disarm(line);
    size_t used = strlen(line);
    if (logger.dropped > 0 && level == LOG_LEVEL_WARNING && used < sizeof line - 64) {
        snprintf(line + used, sizeof line - used, " (%llu lines before this one were left out)",
                 (unsigned long long)logger.dropped);
        used = strlen(line);
        logger.dropped = 0;
    }
    if (used > sizeof line - 2)
        used = sizeof line - 2;
    line[used] = '\n';
    /* A log that cannot be written must not stop the service. */
    if (write(STDERR_FILENO, line, used + 1) < 0)
        logger.dropped++;
}
