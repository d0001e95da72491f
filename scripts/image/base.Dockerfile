# The bases of the tests: no more than Node needs, from Debian packages and the Node of node_modules.
FROM scratch AS runtime
COPY libraries/ /
COPY node /usr/local/bin/node
ENV PATH=/usr/local/bin:/usr/bin:/bin
USER 65532:65532

FROM runtime AS build
USER 0:0
COPY tools/ /
RUN ["/bin/busybox", "--install", "-s", "/bin"]
