# One image for all that convohouse does: workers of every role, and each other command. docs/operations.md shows how it is run.
#
# On glibc: DuckDB and Temporal's core are native, and built for it.
FROM node:24.20.0-bookworm-slim AS node
WORKDIR /build
COPY package.json package-lock.json .npmrc ./

FROM node AS build
RUN npm ci --ignore-scripts
COPY build.mjs tsconfig.json tsconfig.build.json tsconfig.api.json ./
COPY sql sql
COPY src src
COPY workflows workflows
RUN node build.mjs

FROM node AS dependencies
# Of Temporal's core, which comes for every system, this one's is enough.
RUN npm ci --omit=dev --ignore-scripts \
 && find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -r {} +

FROM python:3.13.9-slim-bookworm AS extensions
# Extensions of DuckDB, signed by it, for targets of publications. The version is that of @duckdb/node-api.
RUN pip download --quiet --no-deps --dest /wheels duckdb-extension-postgres-scanner==1.5.5 duckdb-extension-httpfs==1.5.5 duckdb-extension-fts==1.5.5 \
  duckdb-extension-ducklake==1.5.5 \
 && python -c "import glob, os, shutil, zipfile; os.mkdir('/extensions'); [shutil.copyfileobj(z.open(n), open('/extensions/' + os.path.basename(n), 'wb')) for z in map(zipfile.ZipFile, glob.glob('/wheels/*.whl')) for n in z.namelist() if n.endswith('.duckdb_extension')]"

FROM node:24.20.0-bookworm-slim
# Temporal's core trusts the system's certificates, and the slim image has none.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 && install --directory --owner=node --group=node --mode=0700 /data
WORKDIR /app
COPY --from=dependencies /build/node_modules node_modules
COPY --from=build /build/dist dist
COPY --from=extensions /extensions extensions
COPY package.json LICENSE ./
RUN ln -s /app/dist/src/cli/convohouse.cjs /usr/local/bin/convohouse
ENV NODE_ENV=production
# No token here, nor in any environment: the configuration, or CONVOHOUSE_API_TOKEN_FILE, names the file that holds it.
ENV CONVOHOUSE_HOME=/data CONVOHOUSE_EXTENSIONS=/app/extensions
USER node
VOLUME /data
EXPOSE 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 \
  CMD ["node", "/app/dist/src/run/temporal/worker/healthy.js", "127.0.0.1:9464"]
ENTRYPOINT ["node", "/app/dist/src/cli/convohouse.cjs"]
CMD ["worker", "--role", "all", "--metrics", "0.0.0.0:9464"]
