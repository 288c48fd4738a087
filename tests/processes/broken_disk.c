/* A disk that fails: what is written to or read from files of a store goes wrong at the call that was asked for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int left = 0, code = EIO, stays = 0, happened = 0;

/* Let the call NUMBER from now fail with ERROR, and if STAYS all that follow. */
void break_disk(int number, int error, int stays_broken) {
    left = number; code = error; stays = stays_broken; happened = 0;
}

int disk_broke(void) { return happened; }

static int is_ours(const char *path) {
    return path && strstr(path, "/.gobby") && !strstr(path, "state.db");
}

static int is_our_file(int fd) {
    char link[64], path[4096];
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    errno = saved;
    if (size < 0) return 0;
    path[size] = 0;
    return is_ours(path);
}

static int fails(void) {
    if (left <= 0 || --left > 0) return 0;
    happened = 1;
    if (stays) left = 1;
    errno = code;
    return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define ON_FILE(type, name, params, args) \
    type name params { if (is_our_file(fd) && fails()) return -1; return NEXT(name) args; }
#define ON_PATH(name, params, args) \
    int name params { if (is_ours(path) && fails()) return -1; return NEXT(name) args; }

/* Half of the data arrives, as on a disk that fails in the middle. */
ssize_t write(int fd, const void *data, size_t size) {
    if (is_our_file(fd) && fails()) {
        if (size > 1) NEXT(write)(fd, data, size / 2);
        errno = code;
        return -1;
    }
    return NEXT(write)(fd, data, size);
}

ON_FILE(ssize_t, read, (int fd, void *data, size_t size), (fd, data, size))
ON_FILE(int, fsync, (int fd), (fd))
ON_FILE(int, fdatasync, (int fd), (fd))
ON_FILE(int, ftruncate, (int fd, off_t size), (fd, size))
ON_FILE(int, ftruncate64, (int fd, off64_t size), (fd, size))
ON_FILE(int, fchmod, (int fd, mode_t mode), (fd, mode))
ON_PATH(unlink, (const char *path), (path))
ON_PATH(mkdir, (const char *path, mode_t mode), (path, mode))
ON_PATH(chmod, (const char *path, mode_t mode), (path, mode))

int rename(const char *path, const char *to) {
    if (is_ours(path) && fails()) return -1;
    return NEXT(rename)(path, to);
}

int open(const char *path, int flags, ...) {
    va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more);
    if (is_ours(path) && fails()) return -1;
    return NEXT(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more);
    if (is_ours(path) && fails()) return -1;
    return NEXT(open64)(path, flags, mode);
}

int openat64(int at, const char *path, int flags, ...) {
    va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more);
    if (is_our_file(at) && !strstr(path, "state.db") && fails()) return -1;
    return NEXT(openat64)(at, path, flags, mode);
}
