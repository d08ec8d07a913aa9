# Quartet as one image for linux/amd64 and linux/arm64. Without a command it runs the whole system; with
# `node services/run.cjs event-bus` (or the name of another process) one process.
FROM node:24-bookworm-slim AS packages
WORKDIR /quartet
COPY package.json package-lock.json ./
# No install script is needed: LevelDB's binding comes built for both platforms.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY gen gen
COPY services services
COPY gateway gateway
# The processes run from bundles; what makes them is not needed later.
RUN npm run --silent bundle && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24-bookworm-slim
WORKDIR /quartet
COPY --from=packages /quartet/node_modules node_modules
COPY --from=packages /quartet/dist dist
COPY package.json ./
COPY gen gen
COPY services services
COPY gateway gateway
ENV QUARTET_DATA_DIR=/data \
    QUARTET_GATEWAY_LISTEN=0.0.0.0:8080 \
    QUARTET_GATEWAY_RPC_LISTEN=0.0.0.0:8082 \
    QUARTET_GATEWAY_ADMIN_LISTEN=0.0.0.0:8089 \
    QUARTET_REFACTORING_WORKSPACE_PROXY_LISTEN=0.0.0.0:8081 \
    NODE_COMPILE_CACHE=/tmp/compile-cache \
    UV_THREADPOOL_SIZE=16 \
    MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=131072 \
    MALLOC_TRIM_THRESHOLD_=131072
RUN mkdir /data && chown node:node /data
VOLUME /data
USER node
# The four APIs over HTTP, the applications' traffic, RPCs, health and metrics.
EXPOSE 8080 8081 8082 8089
STOPSIGNAL SIGTERM
HEALTHCHECK --start-period=60s --interval=10s --timeout=5s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8089/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "services/run.cjs", "launch"]
