package deploy

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// kustomization and scaledObject are of kinds that k8s.io/api does not have.
type kustomization struct {
	metav1.TypeMeta `json:",inline"`
	Namespace       string   `json:"namespace"`
	Resources       []string `json:"resources"`
}

type scaledObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ScaleTargetRef struct {
			Name string `json:"name"`
		} `json:"scaleTargetRef"`
		MinReplicaCount int32 `json:"minReplicaCount"`
		MaxReplicaCount int32 `json:"maxReplicaCount"`
		CooldownPeriod  int32 `json:"cooldownPeriod"`
		Triggers        []struct {
			Type     string            `json:"type"`
			Metadata map[string]string `json:"metadata"`
		} `json:"triggers"`
		Advanced struct {
			HorizontalPodAutoscalerConfig struct {
				Behavior autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior"`
			} `json:"horizontalPodAutoscalerConfig"`
		} `json:"advanced"`
	} `json:"spec"`
}

// manifests are all documents of deploy/kubernetes, strictly read: an unknown field, or one named twice, is a fault.
type manifests struct {
	kustomize  kustomization
	configMaps map[string]*corev1.ConfigMap
	secrets    map[string]*corev1.Secret
	deployment *appsv1.Deployment
	budget     *policyv1.PodDisruptionBudget
	hpa        *autoscalingv2.HorizontalPodAutoscaler
	keda       *scaledObject
}

func readManifests(t *testing.T) manifests {
	t.Helper()
	m := manifests{configMaps: make(map[string]*corev1.ConfigMap), secrets: make(map[string]*corev1.Secret)}
	files, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range bytes.Split(text, []byte("\n---\n")) {
			var kind metav1.TypeMeta
			if err := yaml.Unmarshal(document, &kind); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			strictly := func(target any) {
				t.Helper()
				if err := yaml.UnmarshalStrict(document, target); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
			switch kind.APIVersion + " " + kind.Kind {
			case "kustomize.config.k8s.io/v1beta1 Kustomization":
				strictly(&m.kustomize)
			case "v1 ConfigMap":
				c := new(corev1.ConfigMap)
				strictly(c)
				m.configMaps[c.Name] = c
			case "v1 Secret":
				s := new(corev1.Secret)
				strictly(s)
				m.secrets[s.Name] = s
			case "apps/v1 Deployment":
				m.deployment = new(appsv1.Deployment)
				strictly(m.deployment)
			case "policy/v1 PodDisruptionBudget":
				m.budget = new(policyv1.PodDisruptionBudget)
				strictly(m.budget)
			case "autoscaling/v2 HorizontalPodAutoscaler":
				m.hpa = new(autoscalingv2.HorizontalPodAutoscaler)
				strictly(m.hpa)
			case "keda.sh/v1alpha1 ScaledObject":
				m.keda = new(scaledObject)
				strictly(m.keda)
			default:
				t.Errorf("%s: a document of kind %+v, which no test knows", file, kind)
			}
		}
	}
	if m.deployment == nil || m.budget == nil || m.hpa == nil || m.keda == nil || len(m.deployment.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("something is missing: %+v", m)
	}
	return m
}

func (m manifests) container() corev1.Container { return m.deployment.Spec.Template.Spec.Containers[0] }

// environment is what the container gets, with the files of its volumes put into a folder.
func (m manifests) environment(t *testing.T) map[string]string {
	t.Helper()
	c := m.container()
	environ := make(map[string]string)
	for _, from := range c.EnvFrom {
		config := m.configMaps[from.ConfigMapRef.Name]
		if config == nil {
			t.Fatalf("there is no ConfigMap %q", from.ConfigMapRef.Name)
		}
		for name, value := range config.Data {
			environ[name] = value
		}
	}
	for _, e := range c.Env {
		if e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil {
			t.Fatalf("%s: not from a secret", e.Name)
		}
		secret := m.secrets[e.ValueFrom.SecretKeyRef.Name]
		if secret == nil || secret.StringData[e.ValueFrom.SecretKeyRef.Key] == "" {
			t.Fatalf("%s: the example of a secret has no %v", e.Name, e.ValueFrom.SecretKeyRef)
		}
		environ[e.Name] = secret.StringData[e.ValueFrom.SecretKeyRef.Key]
	}
	dir := t.TempDir()
	for _, v := range m.deployment.Spec.Template.Spec.Volumes {
		mounted := slices.IndexFunc(c.VolumeMounts, func(mount corev1.VolumeMount) bool { return mount.Name == v.Name })
		if mounted < 0 {
			t.Fatalf("volume %s is not mounted", v.Name)
		}
		if v.ConfigMap == nil {
			continue
		}
		for name, text := range m.configMaps[v.ConfigMap.Name].Data {
			file := filepath.Join(dir, name)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for variable, value := range environ {
				if value == c.VolumeMounts[mounted].MountPath+"/"+name {
					environ[variable] = file
				}
			}
		}
	}
	return environ
}

func TestKubernetesWorkerIsConfiguredAndHasTimeToStop(t *testing.T) {
	m := readManifests(t)
	environ := m.environment(t)
	if !strings.HasPrefix(environ["CHOKAQ_HANDLERS_FILE"], os.TempDir()) {
		t.Errorf("CHOKAQ_HANDLERS_FILE is %q, where no ConfigMap is mounted", environ["CHOKAQ_HANDLERS_FILE"])
	}
	check(t, environ)
	pod := m.deployment.Spec.Template.Spec
	if pod.TerminationGracePeriodSeconds == nil {
		t.Fatal("terminationGracePeriodSeconds is not set, and would be 30s")
	}
	if got, want := time.Duration(*pod.TerminationGracePeriodSeconds)*time.Second, bound(t, environ); got < want {
		t.Errorf("terminationGracePeriodSeconds is %v, and must be at least %v with the settings of config.yaml", got, want)
	}
	if m.container().Lifecycle != nil {
		t.Error("a preStop hook takes its time from the grace period")
	}
	if !slices.Equal(m.container().Args, []string{"run"}) || len(m.container().Command) > 0 {
		t.Errorf("it runs %q %q", m.container().Command, m.container().Args)
	}
}

// Each probe asks a path of the binary, at the port that it serves, and gets 200 from a worker that runs.
func TestKubernetesProbes(t *testing.T) {
	m := readManifests(t)
	environ := m.environment(t)
	_, port, err := net.SplitHostPort(environ["CHOKAQ_ADMIN_ADDR"])
	if err != nil {
		t.Fatal(err)
	}
	c := m.container()
	if len(c.Ports) != 1 || c.Ports[0].Name != "admin" || strconv.Itoa(int(c.Ports[0].ContainerPort)) != port {
		t.Fatalf("ports %+v, and the worker serves %s", c.Ports, port)
	}
	annotations := m.deployment.Spec.Template.Annotations
	if annotations["prometheus.io/port"] != port {
		t.Errorf("Prometheus is sent to port %s", annotations["prometheus.io/port"])
	}
	environ["CHOKAQ_DSN"], environ["CHOKAQ_ADMIN_ADDR"] = startServer(t), "127.0.0.1:0"
	address := startWorker(t, environ)
	paths := map[string]string{"metrics": annotations["prometheus.io/path"]}
	for name, probe := range map[string]*corev1.Probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Port.StrVal != c.Ports[0].Name {
			t.Fatalf("%s probe: %+v", name, probe)
		}
		paths[name] = probe.HTTPGet.Path
	}
	for name, path := range paths {
		answer, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s: %s, %s, %v", name, path, answer.Status, text, err)
		}
	}
	// A database that is away makes a worker unready, and must never have it restarted.
	if paths["startup"] != "/livez" || paths["liveness"] != "/livez" || paths["readiness"] != "/readyz" {
		t.Errorf("probes: %v", paths)
	}
}

func TestKubernetesSecurity(t *testing.T) {
	m := readManifests(t)
	pod, c := m.deployment.Spec.Template.Spec, m.container()
	if s := pod.SecurityContext; s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.SeccompProfile == nil {
		t.Errorf("pod: %+v", s)
	}
	if s := c.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
		!slices.Contains(s.Capabilities.Drop, "ALL") {
		t.Errorf("container: %+v", s)
	}
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Error("the pod gets a token that it does not need")
	}
	if c.Resources.Requests.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
		t.Errorf("resources: %+v", c.Resources)
	}
	for _, config := range m.configMaps {
		for name, value := range config.Data {
			if strings.Contains(value, "sqlserver://") {
				t.Errorf("a data source name in ConfigMap %s, %s", config.Name, name)
			}
		}
	}
}

// Selectors, names and files that have to fit together do.
func TestKubernetesManifestsFitTogether(t *testing.T) {
	m := readManifests(t)
	labels := m.deployment.Spec.Template.Labels
	for name, selector := range map[string]*metav1.LabelSelector{"Deployment": m.deployment.Spec.Selector, "PodDisruptionBudget": m.budget.Spec.Selector, "spread": m.deployment.Spec.Template.Spec.TopologySpreadConstraints[0].LabelSelector} {
		chosen, err := metav1.LabelSelectorAsMap(selector)
		if err != nil || len(chosen) == 0 {
			t.Fatalf("%s: %v, %v", name, chosen, err)
		}
		for label, value := range chosen {
			if labels[label] != value {
				t.Errorf("%s selects %s=%s, and the pods have %v", name, label, value, labels)
			}
		}
	}
	if m.hpa.Spec.ScaleTargetRef.Name != m.deployment.Name || m.keda.Spec.ScaleTargetRef.Name != m.deployment.Name {
		t.Error("an autoscaler scales something else")
	}
	for _, resource := range m.kustomize.Resources {
		if _, err := os.Stat("kubernetes/" + resource); err != nil {
			t.Error(err)
		}
	}
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("kubectl is not here: kustomization.yaml is read, and not built")
	}
	text, err := exec.Command(kubectl, "kustomize", "kubernetes").CombinedOutput()
	if err != nil || !bytes.Contains(text, []byte("kind: Deployment")) || !bytes.Contains(text, []byte("namespace: "+m.kustomize.Namespace)) {
		t.Errorf("kubectl kustomize: %v\n%s", err, text)
	}
}
