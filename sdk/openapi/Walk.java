import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import ragd.ApiClient;
import ragd.ApiException;
import ragd.api.DocumentServiceApi;
import ragd.api.IndexServiceApi;
import ragd.api.QueryServiceApi;
import ragd.model.CreateIndexRequest;
import ragd.model.DeleteIndexRequest;
import ragd.model.GetJobRequest;
import ragd.model.Job;
import ragd.model.UploadDocumentRequest;
import ragd.model.UploadDocumentResponse;
import ragd.model.VectorQueryRequest;
import ragd.model.VectorQueryResponse;

/** Walk makes an index, uploads a document, asks for it, and meets the errors of a caller's mistakes. */
public class Walk {
  public static void main(String[] args) throws Exception {
    ApiClient client = connect(System.getenv("RAGD_API_KEY"));
    IndexServiceApi indexes = new IndexServiceApi(client);
    DocumentServiceApi documents = new DocumentServiceApi(client);
    QueryServiceApi queries = new QueryServiceApi(client);
    String index = "java-" + ProcessHandle.current().pid();

    check(indexes.indexServiceCreateIndex(new CreateIndexRequest().indexName(index)).getIndexName().equals(index), "the index is made");
    UploadDocumentResponse uploaded = documents.documentServiceUploadDocument(new UploadDocumentRequest()
        .indexName(index).uri("tides.md").metadata(Map.of("team", "harbour", "gates", List.of(1, 2)))
        .text("# Tides\n\nThe gate opens two hours before high water."));
    Job job = uploaded.getJob();
    while (job.getStatus().equals("queued") || job.getStatus().equals("running")) {
      LockSupport.parkNanos(20_000_000);
      job = documents.documentServiceGetJob(new GetJobRequest().jobId(job.getJobId()));
    }
    check(job.getStatus().equals("succeeded"), "the job ends well: " + job.getError());

    VectorQueryResponse answer = queries.queryServiceVectorQuery(new VectorQueryRequest()
        .indexName(index).queryText("when does the gate open?").topK(3).filter(Map.of("team", "harbour")));
    check(answer.getSources().size() == 1, "one source is found");
    check(answer.getSources().get(0).getUri().equals("tides.md"), "it is that of the document");
    check(answer.getSources().get(0).getDocument().contains("before high water"), "with its text");
    check(answer.getSources().get(0).getMetadata().get("gates").equals(List.of(1, 2)), "and its metadata");

    refused(404, "not_found", () -> indexes.indexServiceDeleteIndex(new DeleteIndexRequest().indexName("absent")));
    refused(400, "invalid_argument", () -> queries.queryServiceVectorQuery(new VectorQueryRequest().indexName(index).queryText("gate").topK(5000)));
    refused(401, "unauthenticated", () -> new IndexServiceApi(connect("wrong")).indexServiceCreateIndex(new CreateIndexRequest().indexName("other")));
    indexes.indexServiceDeleteIndex(new DeleteIndexRequest().indexName(index));
    System.out.println("a client in Java made an index, uploaded, asked and was refused as documented");
  }

  /** connect returns a client of the service with a key. */
  static ApiClient connect(String key) {
    ApiClient client = new ApiClient();
    client.updateBaseUri(URI.create(System.getenv("RAGD_SERVER")).toString());
    client.setRequestInterceptor(request -> request.setHeader("Authorization", "Bearer " + key));
    return client;
  }

  interface Call {
    void run() throws ApiException;
  }

  /** refused checks that a call fails with this status and code. */
  static void refused(int status, String code, Call call) {
    try {
      call.run();
    } catch (ApiException error) {
      check(error.getCode() == status && error.getResponseBody().contains("\"code\":\"" + code + "\""), "want " + status + " " + code + ", got " + error.getMessage());
      return;
    }
    check(false, "want " + status + " " + code + ", got an answer");
  }

  static void check(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
  }
}
