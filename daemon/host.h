/* What this process may use of the machine: less than all of it in a container or under a CPU set. */
#ifndef DAEMON_HOST_H
#define DAEMON_HOST_H

#include <stdint.h>

/* Memory in bytes: of the machine, or what the control groups of the process leave of it; 0 when nobody says. */
uint64_t host_memory_bytes(void);
/* Processors that the process may run on, at least 1. */
uint64_t host_processors(void);

/* The least memory.max of a control group and the groups around it. root: where the groups are mounted; group: the path
 * of one, as /proc/self/cgroup has it; UINT64_MAX when none is limited. */
uint64_t host_group_limit(const char *root, const char *group);

#endif
