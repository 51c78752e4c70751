/*
 * Lines on stderr, which is a terminal, a file or the journal. Every line starts with the program's name; below the
 * journal it starts with the priority that systemd takes off again.
 */
#ifndef DAEMON_LOG_H
#define DAEMON_LOG_H

#include <stdbool.h>

#include "base/status.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Lines above the level are dropped. journal: stderr is the journal. */
void log_init(enum log_level level, bool journal);

/* One line. Warnings are limited to a burst that refills slowly, because clients cause them; what was left out is
 * counted on the next line that is let through. */
void log_line(enum log_level level, const char *fmt, ...) BIR_PRINTF(2, 3);

#endif
