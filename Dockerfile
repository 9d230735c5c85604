# The inference proxy (`sandbox serve proxy`), and the verbs of `sandbox` that need only a cluster: list, describe, logs,
# exec, pause, resume. `create`, `update` and `delete` also run `pulumi`, which is not in here.
#   python -m pip wheel --no-deps --wheel-dir dist . && docker build -t sandbox-components .
#   docker run --rm -v ~/.kube/config:/home/sandbox/.kube/config:ro sandbox-components list -A
# BASE is any image with Python 3.11 or newer, pip and useradd. Where pip needs settings of its own, they are given as
# secrets, of which nothing stays: --secret id=pip,src=pip.conf --secret id=ca,src=ca.pem (cert = /run/secrets/ca).
ARG BASE=python:3.12-slim
FROM ${BASE}
RUN useradd --create-home --uid 1000 sandbox
COPY .ci/constraints.txt dist/*.whl /tmp/sandbox/
# Pulumi's modules, a half of all, are not byte-compiled: what runs in here imports none of them.
RUN --mount=type=secret,id=pip --mount=type=secret,id=ca \
    cd /tmp/sandbox && python -m venv --without-pip /opt/sandbox \
    && PIP_CONFIG_FILE=/run/secrets/pip python -m pip --python /opt/sandbox/bin/python install --no-cache-dir --no-compile \
        --disable-pip-version-check --constraint constraints.txt "$(ls *.whl)[proxy,postgres]" \
    && python -m compileall -q -x /pulumi_kubernetes/ /opt/sandbox/lib \
    && ln -s /opt/sandbox/bin/sandbox /usr/local/bin/sandbox && rm -r /tmp/sandbox
USER 1000
WORKDIR /home/sandbox
ENTRYPOINT ["sandbox"]
