# The operator's image. Both bases need the same glibc or a newer one in the second, and Node 24 on PATH; the
# second needs no shell and no package manager. docs/image.md says more.
ARG BUILD_BASE=node:24-bookworm-slim
ARG BASE=node:24-bookworm-slim

FROM ${BUILD_BASE} AS build
# Where npm has to trust an authority of its own; nothing of it stays in the image.
ARG NODE_EXTRA_CA_CERTS
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
COPY . .
RUN node scripts/build.ts --operator-only && node scripts/image/sbom.ts dist/sbom.cdx.json
RUN mkdir /app && cp LICENSE dist/*.mjs dist/*.txt dist/sbom.cdx.json /app/

# V8's compile cache fits one version of Node on one architecture, so the Node that will read it writes it; and
# for one user.
FROM ${BASE} AS warm
USER 65532:65532
COPY --from=build /app /app
COPY --from=build /src/scripts/image/warm-up.mjs /tmp/warm-up.mjs
ENV PATH=/nodejs/bin:/usr/local/bin:/usr/bin:/bin NODE_COMPILE_CACHE=/tmp/compile-cache
RUN ["node", "/tmp/warm-up.mjs", "/app/iam-operator.mjs"]

FROM ${BASE}
ARG VERSION=dev
ARG REVISION=
LABEL org.opencontainers.image.title="iam-operator" \
      org.opencontainers.image.description="Issues API keys of an IAM console into Kubernetes Secrets and rotates them" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /app /app
COPY --from=warm /tmp/compile-cache /app/compile-cache
ENV PATH=/nodejs/bin:/usr/local/bin:/usr/bin:/bin \
    NODE_ENV=production \
    NODE_COMPILE_CACHE=/app/compile-cache \
    MALLOC_ARENA_MAX=2
WORKDIR /app
USER 65532:65532
EXPOSE 8080 8081
# The flags and the arenas are decided in docs/decisions.md ("Metrics are for authorized readers", "Memory follows the container").
ENTRYPOINT ["node", "--disable-proto=delete", "--no-addons", "/app/iam-operator.mjs"]
