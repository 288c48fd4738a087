/* Writes what becomes of files into the file named by DISK_LOG, a line each, in the order in which it happens. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void note(const char *what, const char *path, const char *to) {
    static int log = -1;
    char line[9000], whole[2][4096];
    const char *name = getenv("DISK_LOG");
    int saved = errno;
    if (!name) return;
    if (log < 0) log = NEXT(open)(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    const char *paths[2] = {path, to};
    for (int i = 0; i < 2; i++) {
        whole[i][0] = 0;
        if (paths[i] && paths[i][0] != '/' && getcwd(whole[i], 2000)) strcat(whole[i], "/");
        if (paths[i]) strncat(whole[i], paths[i], 2000);
    }
    int size = snprintf(line, sizeof line, "%s\t%s\t%s\n", what, whole[0], whole[1]);
    if (NEXT(write)(log, line, size) < 0) abort();
    errno = saved;
}

static void note_file(const char *what, int fd) {
    char link[64], path[4096];
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    errno = saved;
    if (size <= 0 || path[0] != '/') return;
    path[size] = 0;
    note(what, path, NULL);
}

static int note_open(const char *path, int flags) {
    struct stat found;
    int is_new = path && (flags & O_CREAT) && stat(path, &found) != 0;
    if (path && (flags & O_TRUNC)) note("write", path, NULL);
    return is_new;
}

int open(const char *path, int flags, ...) {
    va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more);
    int is_new = note_open(path, flags), fd = NEXT(open)(path, flags, mode);
    if (is_new && fd >= 0) note("create", path, NULL);
    return fd;
}

int open64(const char *path, int flags, ...) {
    va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more);
    int is_new = note_open(path, flags), fd = NEXT(open64)(path, flags, mode);
    if (is_new && fd >= 0) note("create", path, NULL);
    return fd;
}

#define ON_FILE(type, name, word, params, args) \
    type name params { type done = NEXT(name) args; if (done >= 0) note_file(word, fd); return done; }
ON_FILE(ssize_t, write, "write", (int fd, const void *data, size_t size), (fd, data, size))
ON_FILE(ssize_t, pwrite64, "write", (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
ON_FILE(int, ftruncate64, "write", (int fd, off64_t size), (fd, size))
ON_FILE(int, fsync, "sync", (int fd), (fd))
ON_FILE(int, fdatasync, "sync", (int fd), (fd))

int rename(const char *path, const char *to) {
    int done = NEXT(rename)(path, to);
    if (!done) note("rename", path, to);
    return done;
}

int mkdir(const char *path, mode_t mode) {
    int done = NEXT(mkdir)(path, mode);
    if (!done) note("create", path, NULL);
    return done;
}
