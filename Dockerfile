# The command `sandbox` alone, for the verbs that need only a cluster (list, describe, logs, exec, pause, resume).
#   python -m pip wheel --no-deps --wheel-dir dist . && docker build -t sandbox-components .
#   docker run --rm -v ~/.kube/config:/home/sandbox/.kube/config:ro sandbox-components list -A
# `create`, `update` and `delete` also run `pulumi`, which is not in here.
FROM python:3.12-slim
RUN useradd --create-home --uid 1000 sandbox
COPY dist/*.whl /tmp/
RUN pip install --no-cache-dir /tmp/*.whl && rm /tmp/*.whl
USER sandbox
WORKDIR /home/sandbox
ENTRYPOINT ["sandbox"]
