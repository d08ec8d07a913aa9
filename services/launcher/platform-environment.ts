/**
 * Settings of the platform, which it reads when a process begins: with the default of four threads for files a few
 * slow syncs delay every read. glibc's allocator has two arenas instead of sixteen, and gives large blocks back to the
 * system as soon as they are freed (services/decisions/0117). Other allocators ignore these. The Dockerfile has them
 * too, for a process that the launcher does not start.
 */
export const platformEnvironment = {
  UV_THREADPOOL_SIZE: "16",
  MALLOC_ARENA_MAX: "2",
  MALLOC_MMAP_THRESHOLD_: "131072",
  MALLOC_TRIM_THRESHOLD_: "131072",
};
