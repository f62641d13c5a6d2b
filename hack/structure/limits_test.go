package structure

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// documentedLimits lists rows of pages and the constants whose values they give. A row
// begins with the text.
var documentedLimits = []struct {
	page, row string
	constants string // separated by spaces, as package.name below internal, or below cmd
}{
	{"limits", "item of an export of another", "ingest/export.MaxItem/bytes ingest/export.maxItems"},
	{"limits", "nesting of elements of an HTML", "ingest/parse.maxWrappers ingest/parse.maxElements"},
	{"limits", "lists and quotations of an HTML", "ingest/parse.maxLists"},
	{"limits", "cells of a table of an HTML page with blank", "ingest/parse.leastFilled ingest/parse.maxFilled ingest/parse.maxCellSpan"},
	{"limits", "blank cells that fill up", "ingest/parse/markup.maxFilling"},
	{"limits", "attributes of an AsciiDoc file", "ingest/parse/markup.maxAttributes ingest/parse/markup.maxResolved/bytes"},
	{"limits", "strings that a manual page defines", "ingest/parse/markup.maxStrings ingest/parse/markup.maxStringValue"},
	{"limits", "text in the service's own process", "ingest/parse/subprocess.maxOwnTree/bytes ingest/parse/subprocess.maxOwnText/bytes"},
	{"limits", "message over Connect", "api/rpc.MaxMessageBytes/bytes"},
	{"limits", "large messages being received", "tenant/quota/admission.smallBytes/bytes tenant/quota/admission.maxWait"},
	{"limits", "compressed message", "tenant/quota/admission.maxRatio tenant/quota/admission.freeRatioBytes/bytes api/rpc.maxQueryBytes/bytes"},
	{"limits", "time in which a message must arrive", "tenant/quota/admission.MaxArrival"},
	{"limits", "message to health checks", "api/rpc.maxOpenBytes/bytes api/rpc.maxOpenBodyBytes/bytes"},
	{"limits", "time in which nothing of a request's body", "api/httpserver.MaxPause"},
	{"limits", "time of a unary call", "api/rpc.unaryTimeout"},
	{"limits", "lines of the log about", "operate/logrepeat.maxOfCaller operate/logrepeat.maxOfKind"},
	{"limits", "`maxStaleness` of a query", "tenant/place/replica.MaxStaleness"},
	{"limits", "replicas in `database-read-urls`", "tenant/place/replica.MaxReplicas"},
	{"limits", "write tokens of a query", "tenant/place/replica.MaxTokens"},
	{"limits", "registered databases", "tenant/place/placement.MaxDatabases"},
	{"limits", "connections for requests to a registered", "tenant/place/placement.MaxConnections tenant/place/placement.DefaultConnections"},
	{"limits", "URL of a database", "tenant/place/placement.maxURLBytes"},
	{"limits", "time to connect to a database", "tenant/place/placement.registerTimeout"},
	{"limits", "wait of a call, and of the start", "tenant/place/placement.openWait"},
	{"limits", "statement of a tenant that leaves", "tenant/data.moveAttempts"},
	{"limits", "time for which writes of a tenant that is moved", "tenant/place/move.MaxStop"},
	{"limits", "time of an attempt to move", "tenant/place/move.maxTime"},
	{"limits", "attempts of a move", "tenant/place/move.maxAttempts"},
	{"limits", "copy of a moved tenant", "tenant/place/move.DefaultKeep"},
	{"limits", "time unused after which a tenant", "tenant.MinSleepAfter tenant.MaxSleepAfter"},
	{"limits", "time of an attempt to put a tenant to sleep", "tenant/sleep.maxTime"},
	{"limits", "archive of a tenant that was woken", "tenant/sleep.DefaultKeep tenant/sleep.MaxKeep"},
	{"limits", "tenants that an instance wakes", "tenant/sleep.MaxAtOnce tenant/sleep.MaxWaiting"},
	{"limits", "time for which a tenant is left", "tenant/sleep.retryPause"},
	{"limits", "exports, and imports", "tenant/archive.MaxAtOnce"},
	{"limits", "time of an export", "tenant/archive.MaxTime"},
	{"limits", "a frame, and", "tenant/archive/frame.MaxBytes/bytes"},
	{"limits", "frames that a caller", "tenant/archive.MaxKnown"},
	{"limits", "rows that an import", "tenant/archive.batchBytes/bytes"},
	{"limits", "rows of a frame", "tenant/archive.maxFrameRows"},
	{"limits", "JSON of the first frame", "tenant/archive.maxDescription/bytes tenant/archive.maxManifestEntry"},
	{"limits", "rights of a connector, run", "tenant/access/credential.maxDelegationBytes/bytes automation/connector.maxRestoredBytes/bytes"},
	{"limits", "file of declarations", "cmd/ragd/declare.maxFileBytes/bytes cmd/ragd/declare.maxNesting"},
	{"limits", "request context", "tenant/access.maxOverridesBytes/bytes"},
	{"limits", "`Idempotency-Key` |", "tenant/idempotency.MaxKeyBytes"},
	{"limits", "time for which a key and its answer", "tenant/idempotency.Retention"},
	{"limits", "answer that is kept for repeats", "tenant/idempotency.MaxAnswerBytes/bytes"},
	{"limits", "keys that are kept of a tenant", "tenant/idempotency.MaxKeys tenant/idempotency.MaxBytes/bytes"},
	{"limits", "time after which a call of an instance", "tenant/idempotency.lease"},
	{"limits", "`hybrid.vectorLogOdds` of a query", "index.MaxVectorLogOdds"},
	{"limits", "synonyms of an index", "index/wording.MaxSynonyms index/wording.MaxTerms index/wording.MaxSetBytes/bytes"},
	{"limits", "a term of a synonym", "index/wording.MaxWords index/wording.MaxBytes"},
	{"limits", "`limit` of `Suggest`", "query.MaxSuggestions query.DefaultSuggestions"},
	{"limits", "`prefix` of `Suggest`", "query.MaxPrefixBytes"},
	{"limits", "curations of an index", "index/wording.MaxCurations index/wording.MaxSetBytes/bytes"},
	{"limits", "a curation", "index/wording.MaxPins index/wording.MaxHides index/wording.MaxQuestionWords index/wording.MaxQuestionBytes"},
	{"limits", "synonyms that a question uses", "index/wording.MaxUsed"},
	{"limits", "page of a list", "operate/pagination.MaxSize"},
	{"limits", "waiting for a job within a call", "tool/toolset.maxWait"},
	{"limits", "waiting calls of a tenant", "tool/toolset.maxWaiting"},
	{"limits", "time of a task", "tool/toolset.MaxTaskTime"},
	{"limits", "tasks of a tenant that run", "tool/task.maxRunning"},
	{"limits", "tasks that are kept", "tool/task.maxKept tool/task.keep"},
	{"limits", "result of a task", "tool/task.maxOutcomeBytes/bytes"},
	{"limits", "answers to a task", "tool/task.maxAnswerBytes/bytes"},
	{"limits", "message of a task", "tool/task.maxMessageBytes"},
	{"limits", "tasks of a tenant of which streams", "api/mcp.maxListenedTasks"},
	{"limits", "silence of an instance", "tool/task.lostAfter"},
	{"limits", "concurrent messages of an SSE session", "api/mcp/mcphttp.maxSSEBacklog"},
	{"limits", "stored sessions of a tenant", "api/mcp/mcphttp.maxStoredSessions"},
	{"limits", "parameters of `initialize`", "api/mcp/mcphttp.maxClientBytes/bytes"},
	{"limits", "stored subscriptions of a session", "api/mcp/mcphttp.maxStoredSubscriptions"},
	{"limits", "cancellation or answer that another", "api/mcp/mcphttp.maxSentBytes/bytes"},
	{"limits", "time that an instance waits for the database about", "api/mcp/mcphttp.storeTimeout"},
	{"limits", "time that another instance has to hand", "api/mcp/mcphttp.resumeWait"},
	{"limits", "chunks of one read of a resource", "api/mcp.maxChunksRead"},
	{"limits", "endpoints of tenants that", "operate/doctor.MaxEndpoints"},
	{"limits", "subscriptions of a tenant", "api/mcp.maxSubscriptions"},
	{"limits", "free space of the embedded", "index/storage.leastFree/bytes"},
	{"limits", "data of a tenant", "index/storage.countTTL"},
	{"limits", "files of a tenant", "api/openai.maxFiles"},
	{"limits", "file |", "api/openai.maxFileNameBytes"},
	{"limits", "fields of the form", "api/openai.maxFields api/openai.maxFieldBytes/bytes api/openai.maxPartHeadBytes/bytes"},
	{"limits", "`file_ids` of a vector store", "api/openai.maxBatchFiles"},
	{"limits", "batches of a tenant", "api/openai.maxBatches"},
	{"limits", "`name` of a vector store", "api/openai.maxStoreNameBytes"},
	{"limits", "`metadata` and `attributes`", "api/openai.maxMetadata api/openai.maxMetadataKey api/openai.maxMetadataValue"},
	{"limits", "static chunking", "api/openai.minChunkTokens api/openai.maxChunkTokens"},
	{"limits", "conversation of a chat", "automation/agent.maxHistoryMessages automation/agent.maxHistoryBytes/bytes"},
	{"limits", "functions of the caller", "automation/agent.maxCallerTools automation/agent.maxCallerToolBytes/bytes"},
	{"limits", "vector stores of `file_search`", "api/openai.maxSearchedStores"},
	{"limits", "extracts of `passages`", "api/openai.maxPassages api/openai.maxExtract"},
	{"limits", "`passages/INDEX` in the list", "api/openai.maxListedIndexes"},
	{"limits", "results of a search", "api/openai.maxResults api/openai.maxQuestions"},
	{"limits", "text of a file in one answer", "api/openai.maxReadBytes/bytes"},
	{"limits", "time of a request, but", "api/openai.maxTime"},
	{"limits", "memory of answers that are being received", "api/openai.segmentBytes/bytes"},
	{"limits", "time in which the caller must receive", "api/openai.pieceBytes/bytes api/openai.maxWrite"},
	{"limits", "servers of a tenant", "tool/server.maxServers"},
	{"limits", "`instructions`", "tool/server.maxInstructionsBytes/bytes"},
	{"limits", "`icons`", "tool/server.maxIcons tool/server.maxIconURLBytes tool/server.maxIconBytes/bytes"},
	{"limits", "`presented`", "tool/server.maxPresented"},
	{"limits", "`defaultContext`", "tool/server.maxContextBytes/bytes"},
	{"limits", "a definition as a whole", "tool/server.maxDefinitionBytes/bytes"},
	{"limits", "use of a changed definition", "tool/server.cacheTTL"},
	{"limits", "`displayName`", "tenant.maxDisplayNameBytes"},
	{"limits", "`settings` | 16 KiB of JSON; `maxIndexes`", "tenant.MaxSettingsBytes/bytes tenant/quota.maxQuota"},
	{"limits", "`maxDocuments` in the", "tenant/quota.maxTokenQuota"},
	{"limits", "`maxDocumentBytes` in the", "tenant/quota.maxByteQuota"},
	{"limits", "`maxTokensPerMonth` in the", "tenant/quota.maxTokenQuota"},
	{"limits", "plans of a service", "tenant/quota/plan.MaxPlans"},
	{"limits", "`models` of a plan", "tenant/quota/plan.maxModels tenant/quota/plan.maxModelBytes"},
	{"limits", "warning of a tenant", "tenant/quota/usage.WarnPercent tenant/quota/usage.RearmPercent tenant/quota/usage.warningsTTL"},
	{"limits", "rows of usage", "tenant/quota/usage.DefaultRetention tenant/quota/usage.minRetention"},
	{"limits", "time until usage is in the rows", "tenant/quota/usage.FlushInterval"},
	{"limits", "counts that wait in memory", "tenant/quota/usage.maxWaiting"},
	{"limits", "entries of the log", "operate/audit.DefaultRetention operate/audit.MinRetention"},
	{"limits", "administrative actions of a tenant", "operate/audit.actionBurst operate/audit.actionRate"},
	{"limits", "names in an entry", "operate/audit.maxNames operate/audit.maxNameBytes"},
	{"limits", "sums of denied calls", "operate/audit.maxDenials operate/audit.period"},
	{"limits", "first and last use of a key", "tenant/access/credential.keyUseInterval tenant/access/credential.maxKeyUses"},
	{"limits", "time until new files of a certificate", "api/httpserver.certificateInterval"},
	{"limits", "`vectorStoreNames` of a tenant", "tenant.MaxStores"},
	{"limits", "servers, indexes, tools and prompts", "tenant/access.maxBoundNames tenant/access.maxBoundNameBytes"},
	{"limits", "`origins` of a key", "tenant/access.MaxOrigins tenant/access.maxOriginBytes"},
	{"limits", "`attributes` of a key", "tenant/access/credential.maxAttributesBytes/bytes"},
	{"limits", "issuers of a tenant", "tenant/access/credential.maxIssuers tenant/access/credential.maxIssuerAudiences"},
	{"limits", "tokens of a tenant's own issuers", "tenant/access/oauth.maxVerifying"},
	{"limits", "issuers of tenants whose keys", "tenant/access/oauth.maxOwnVerifiers"},
	{"limits", "time that a browser stays signed in", "api/console.SessionLife"},
	{"limits", "time that a link of", "api/console.LinkLife"},
	{"limits", "time for a log-in at", "api/console.LoginLife"},
	{"limits", "sessions, and unused links", "api/console.MaxSessions"},
	{"limits", "request to `/console/`", "api/console.maxBody/bytes api/console.maxArrival"},
	{"limits", "failing sign-ins of an address", "api/console.MaxFailures api/console.failureEvery"},
	{"limits", "log-ins begun at an authorization", "api/console.MaxLogins api/console.loginEvery"},
	{"limits", "path to return to after", "api/console.maxReturn/bytes"},
	{"limits", "access tokens that are renewed at once", "api/console.maxRenewing"},
	{"limits", "use of a session that was ended", "api/console.fresh"},
	{"limits", "streams of events of a tenant", "automation/event/journal.maxWatchersPerTenant"},
	{"limits", "streams of events of all", "automation/event/journal.maxWatchers"},
	{"limits", "`indexes`, `tools` of a stream", "automation/event/journal.maxFilterNames automation/event/journal.maxFilterNameBytes"},
	{"limits", "events that are kept", "automation/event/journal.DefaultAge automation/event/journal.DefaultEvents automation/event/journal.DefaultBytes/bytes automation/event/journal.sweepEvery"},
	{"limits", "arguments, result of one event", "automation/event/journal.maxRecordedBytes/bytes"},
	{"limits", "events of tools that wait", "automation/event/journal.maxWaitingBytes/bytes automation/event/journal.maxWaitingBytesPerTenant/bytes"},
	{"limits", "time between two messages of a stream", "automation/event/journal.heartbeat"},
	{"limits", "connectors of a tenant", "automation/connector.maxConnectors"},
	{"limits", "`description` of a connector", "automation/connector.maxDescriptionBytes"},
	{"limits", "`metadata` of a connector", "automation/connector.maxMetadata automation/connector.maxMetadataName"},
	{"limits", "`maxItems` of a connector", "automation/connector.maxItems automation/connector.maxFiles automation/connector.maxVisitedItems automation/connector.defaultItems"},
	{"limits", "`schedule`", "automation/connector.maxScheduleBytes automation/connector.minInterval automation/connector.maxJitter"},
	{"limits", "bytes, requests of a run", "automation/connector.maxRunBytes/bytes automation/connector.bytesPerItem/bytes automation/connector.maxRunRequests automation/connector.requestsPerItem"},
	{"limits", "items of a run that are stored at once", "automation/connector.batchItems automation/connector.batchBytes/bytes automation/connector.queueBytes/bytes"},
	{"limits", "items whose states", "automation/connector.statesAtOnce"},
	{"limits", "connections to the host of a source", "automation/connector.connections"},
	{"limits", "time of a run |", "automation/connector.maxRunTime"},
	{"limits", "time of a request to a source", "automation/connector.requestTimeout automation/connector.maxAttempts automation/connector.maxRetryAfter"},
	{"limits", "redirects of robots.txt", "automation/connector.maxRedirects"},
	{"limits", "connectors that run at once", "automation/connector.maxAtOncePerTenant"},
	{"limits", "runs that `GetConnector` tells of", "automation/connector.keptRuns"},
	{"limits", "items and time of `TestConnector`", "automation/connector.maxTestItems automation/connector.maxTestTime"},
	{"limits", "`include`, `exclude` of a website", "automation/connector.maxPatterns automation/connector.maxPatternBytes"},
	{"limits", "`maxDepth` of a website", "automation/connector.maxDepth automation/connector.defaultDepth"},
	{"limits", "`delayMs` of a website", "automation/connector.maxDelay automation/connector.defaultDelay"},
	{"limits", "pages of a website that are read", "automation/connector.pagesAtOnce"},
	{"limits", "address of a page", "automation/connector.maxPageURLBytes"},
	{"limits", "links of a page", "automation/connector.maxLinks automation/connector.maxLinkBytes/bytes"},
	{"limits", "robots.txt |", "automation/connector.maxRobotsBytes/bytes"},
	{"limits", "address, branch, user of a repository", "automation/connector.maxGitURLBytes automation/connector.maxBranchBytes automation/connector.maxUserBytes"},
	{"limits", "`include`, `exclude` of a repository", "automation/connector.maxPatterns automation/connector.maxPatternBytes"},
	{"limits", "address, region, prefix, access key of a bucket", "automation/connector.maxEndpointBytes automation/connector.maxRegionBytes automation/connector.maxPrefixBytes automation/connector.maxAccessBytes"},
	{"limits", "`include`, `exclude` of a bucket", "automation/connector.maxPatterns automation/connector.maxPatternBytes"},
	{"limits", "export of another system in a bucket", "automation/connector.maxExportBytes/bytes automation/connector.maxPackObjectBytes/bytes"},
	{"limits", "objects that are listed at once", "automation/connector.objectsPerPage automation/connector.readAheadBytes/bytes"},
	{"limits", "`query` of a database", "automation/connector.maxQueryBytes automation/connector.maxColumnBytes"},
	{"limits", "time of a statement in a database", "automation/connector.maxStatementTime"},
	{"limits", "columns of a row besides", "automation/connector.maxColumnsBytes/bytes"},
	{"limits", "id and time of a row", "automation/connector.maxListedBytes/bytes"},
	{"limits", "rows that are listed", "automation/connector.rowsPerPage automation/connector.rowsPerRead"},
	{"limits", "`publication`, `slot` of a database", "automation/connector.maxColumnBytes"},
	{"limits", "changed rows that are stored at once", "automation/connector.rowsPerChange automation/connector.queuedEvents"},
	{"limits", "wait of a connector before it tries again", "automation/connector.maxStreamPause"},
	{"limits", "time and bytes of the log after which", "automation/connector.idleConfirm automation/connector.idleBytes/bytes"},
	{"limits", "silence of a database", "automation/connector.maxSilence"},
	{"limits", "memory of a query of SQLite", "automation/connector.maxSQLiteHeap/bytes automation/connector.sqliteWait"},
	{"limits", "message of a database", "automation/connector.maxAnswerBytes/bytes"},
	{"limits", "`relistHours` of a database", "automation/connector.maxRelistHours"},
	{"limits", "time before the newest one", "automation/connector.cursorOverlap"},
	{"limits", "`manifest` of a web API", "automation/connector/manifest.MaxBytes automation/connector/manifest.maxStreams automation/connector/manifest.maxTemplateBytes/bytes automation/connector/manifest.maxValues"},
	{"limits", "parents of a stream", "automation/connector/manifest.maxParents automation/connector/manifest.maxReferences automation/connector/manifest.maxParts automation/connector/manifest.maxListed"},
	{"limits", "`config` of a web API", "automation/connector.maxConfig automation/connector.maxConfigBytes automation/connector.maxMetadataName"},
	{"limits", "`relistHours` of a web API", "automation/connector.maxRelistHours automation/connector.defaultRelist"},
	{"limits", "page of a web API", "automation/connector.maxAPIPageBytes/bytes automation/connector/manifest.maxPageSize"},
	{"limits", "attempts of a request to a web API", "automation/connector/manifest.maxRetries automation/connector/manifest.defaultRetries automation/connector.maxAPIWait automation/connector/manifest.maxWait"},
	{"limits", "intervals of a cursor", "automation/connector.maxIntervals"},
	{"limits", "records below each other", "automation/connector.maxPartDepth"},
	{"limits", "users and groups of a document", "automation/connector.maxAccessNames"},
	{"limits", "values of all lookups", "automation/connector.maxLookupValues"},
	{"limits", "answer with a token for a web API", "automation/connector.maxTokenBytes/bytes"},
	{"limits", "path of a folder", "automation/connector.maxFolderBytes"},
	{"limits", "`include`, `exclude` of a folder", "automation/connector.maxPatterns automation/connector.maxPatternBytes"},
	{"limits", "files and folders in a folder", "automation/connector.maxTreeEntries automation/connector.maxTreeDepth"},
	{"limits", "folders of a connector whose", "automation/connector.maxWatchedFolders automation/connector.settleTime"},
	{"limits", "path of a file", "automation/connector.maxItemPathBytes"},
	{"limits", "files and folders of a commit", "automation/connector.maxTreeEntries automation/connector.maxTreeDepth"},
	{"limits", "files of a repository that are fetched", "automation/connector.gitBatch"},
	{"limits", "objects, with their bytes", "automation/connector.maxPackObjects automation/connector.maxPackObjectBytes/bytes automation/connector.maxRunBytes/bytes"},
	{"limits", "names of branches and tags", "automation/connector.maxRefsBytes/bytes"},
	{"limits", "feed |", "automation/connector.maxFeedBytes/bytes automation/connector.maxRedirects"},
	{"limits", "sitemap |", "automation/connector.maxSitemapBytes/bytes automation/connector.maxSitemaps automation/connector.maxSitemapLevels"},
	{"limits", "headers of an MCP server", "tool/mcpclient.maxHeaders tool/mcpclient.maxHeaderBytes/bytes"},
	{"limits", "`timeoutMs` of an MCP server", "tool/mcpclient.maxTimeout tool/mcpclient.defaultTimeout"},
	{"limits", "`templates` of an MCP server", "automation/connector.maxTemplates automation/connector.maxTemplateArguments automation/connector.maxArgumentBytes"},
	{"limits", "uri of a resource of an MCP server", "automation/connector.maxResourceURIBytes"},
	{"limits", "answer of an MCP server with a resource", "automation/connector.maxResourceAnswer/bytes"},
	{"limits", "pages of a list of an MCP server", "tool/mcpclient.maxPages automation/connector.maxEmptyPages"},
	{"limits", "descriptions of resources", "automation/connector.maxResourceText"},
	{"limits", "resources in a row that a lost", "automation/connector.maxFailuresInARow"},
	{"limits", "MCP servers and tables that are followed", "automation/connector.maxFollowed automation/connector.maxFollowedPerTenant"},
	{"limits", "resources to which a connector", "automation/connector.maxSubscriptions"},
	{"limits", "requests for following an MCP server", "automation/connector.maxFollowRequests automation/connector.followWindow automation/connector.exhaustedPause"},
	{"limits", "bytes of what a followed MCP server sends", "automation/connector.maxFollowBytes/bytes automation/connector.followWindow automation/connector.exhaustedPause"},
	{"limits", "secret of `pushSecretName`", "automation/connector.minPushSecretBytes"},
	{"limits", "message to a `pushUrl`", "automation/connector.MaxPushBytes/bytes"},
	{"limits", "time between runs because of changes", "automation/connector.minChangeInterval"},
	{"limits", "`oauth` of an MCP server", "automation/connector.maxScopes automation/connector.maxScopeBytes automation/connector.maxClientID"},
	{"limits", "tools, and prompts, that a connector lends", "automation/connector.maxOffered automation/connector.maxOfferedNameBytes automation/connector.maxPromptArguments"},
	{"limits", "what a connector lends, together", "automation/connector.maxOffersBytes/bytes"},
	{"limits", "`prefix` of what a connector lends", "automation/connector.maxToolPrefixBytes automation/connector.maxOfferedDescription/bytes"},
	{"limits", "prompt of an MCP server", "automation/connector.maxPromptMessages automation/connector.maxPromptBytes/bytes"},
	{"limits", "address that a user is asked to open", "tool/mcptool.maxAddressBytes/bytes"},
	{"limits", "questions of one call of an MCP server", "tool/mcptool.maxAsked tool/mcptool.maxAskedBytes/bytes tool/mcptool.maxMessageBytes/bytes"},
	{"limits", "log message of an MCP server", "tool/mcptool.maxLogBytes/bytes"},
	{"limits", "time until a user must have signed in", "automation/connector.authorizeTime"},
	{"limits", "documents about an authorization server", "secure/oauthclient.maxDocumentBytes/bytes secure/oauthclient.maxTokenBytes/bytes secure/oauthclient.requestTimeout"},
	{"limits", "`answer` of a check", "query/grounding.MaxAnswerBytes/bytes query/grounding.MaxSentences"},
	{"limits", "sources of a check", "query/grounding.MaxSources query/grounding.MaxSourceBytes/bytes"},
	{"limits", "`title` of a text to check", "query/grounding.MaxTitleBytes/bytes"},
	{"limits", "sentence that is compared as one", "query/grounding.maxSentenceBytes"},
	{"limits", "`question` of a research", "graph/research.MaxQuestionBytes/bytes"},
	{"limits", "`budget.passages`", "graph/research.MaxPassages graph/research.DefaultPassages"},
	{"limits", "`budget.steps`", "graph/research.MaxSteps graph/research.DefaultSteps"},
	{"limits", "`budget.seconds`", "graph/research.MaxSeconds graph/research.DefaultSeconds"},
	{"limits", "parts of a question", "graph/research.MaxParts"},
	{"limits", "passages of a chain", "graph/research.maxChain"},
	{"limits", "alerts of a tenant", "query/alert.maxAlerts"},
	{"limits", "`queryText` of an alert", "query/alert.maxTextBytes query/alert.maxTerms"},
	{"limits", "`filter` of an alert", "query/alert.maxFilterBytes/bytes"},
	{"limits", "`displayName` of an alert", "query/alert.maxNameBytes"},
	{"limits", "matches that are kept of an alert", "query/alert.maxMatches query/alert.pruneEvery"},
	{"limits", "passages that the preview of an alert compares", "query/alert.maxPreviewed"},
	{"limits", "passages that the preview of an alert returns", "query/alert.maxPreviewShown query/alert.previewShown"},
	{"limits", "passage in an event of an alert", "query/alert.maxExcerptBytes"},
	{"limits", "hooks of a tenant", "automation/hook.maxHooks"},
	{"limits", "`description` of a hook", "automation/hook.maxDescriptionBytes"},
	{"limits", "`events`, `tools`, `indexes` of a hook", "automation/hook.maxEvents automation/hook.maxNames automation/hook.maxNameBytes"},
	{"limits", "`headers` of a hook", "automation/hook.maxHeaders automation/hook.maxHeaderBytes/bytes"},
	{"limits", "`maxPayloadBytes`", "automation/hook.minPayloadBytes/bytes automation/hook.maxPayloadBytes/bytes automation/hook.defaultPayloadBytes/bytes"},
	{"limits", "`graceSeconds`", "automation/hook.defaultGrace"},
	{"limits", "time of an attempt to deliver", "automation/hook.attemptTimeout"},
	{"limits", "answer to a delivery", "automation/hook.maxAnswerBytes/bytes automation/hook.maxExcerptBytes/bytes"},
	{"limits", "attempts to deliver", "automation/hook.maxAttempts automation/hook.firstRetry automation/hook.maxRetry automation/hook.maxRetryAfter"},
	{"limits", "hook that fails again", "automation/hook.probeAfter automation/hook.maxProbePause automation/hook.disableAfter automation/hook.disableAfterFailures"},
	{"limits", "deliveries at once", "automation/hook.maxAtOnce automation/hook.maxAtOncePerTenant automation/hook.maxAtOncePerHook"},
	{"limits", "claims of an access token", "tenant/access/oauth.maxClaimsBytes/bytes"},
	{"limits", "use of a revoked key", "tenant/access/credential.keyCacheTTL"},
	{"limits", "access token", "tenant/access/oauth.maxTokenBytes/bytes"},
	{"limits", "answer of the authorization server", "tenant/access/oauth.maxAnswerBytes/bytes tenant/access/oauth.maxKeys tenant/access/oauth.fetchTimeout"},
	{"limits", "RSA key of the issuer", "tenant/access/oauth.minRSABits"},
	{"limits", "requests to the issuer for unknown keys", "tenant/access/oauth.minRefetch"},
	{"limits", "use of cached keys", "tenant/access/oauth.maxKeyAge"},
	{"limits", "use of a cached introspection result", "tenant/access/oauth.introspectionTTL"},
	{"limits", "concurrent introspection requests", "tenant/access/oauth.maxRequests tenant/access/oauth.maxUnverified"},
	{"limits", "unknown tokens of one address", "tenant/access/oauth.maxWaiting"},
	{"limits", "events kept of a stream", "api/mcp/mcphttp.maxHeldEvents api/mcp/mcphttp.maxHeldBytes/bytes api/mcp/mcphttp.maxHeldStreams"},
	{"limits", "events kept for a tenant", "api/mcp/mcphttp.maxTenantHeldBytes/bytes"},
	{"limits", "indexes of a tenant", "index.DefaultMaxIndexes"},
	{"limits", "`dimension`", "index.MaxDimension index.MaxBits"},
	{"limits", "values of a `sparsevec`", "index.maxIndexedNonZeros"},
	{"limits", "`sparseValues` beside `values`", "index.maxSparseNonZeros"},
	{"limits", "`metadataIndexes`", "index.maxMetadataIndexes"},
	{"limits", "`metadataSchema`", "tool/schema.MaxBytes/bytes tool/schema.MaxDepth"},
	{"limits", "graph loaded for a query", "graph.maxHops"},
	{"limits", "nodes of an explained walk", "graph.MaxExplained graph.defaultExplained graph.maxExplainedEdges"},
	{"limits", "edges of a chunk", "graph.MaxListedEdges"},
	{"limits", "chunks of a graph whose components", "graph.maxCounted"},
	{"limits", "chunks of an index whose topics", "graph.maxTopicChunks"},
	{"limits", "topics of an index", "graph.maxTopics graph.maxSubtopics"},
	{"limits", "chunks of a topic", "graph.leastTopic graph.leastSmall graph.smallIndex"},
	{"limits", "wait of `ListTopics`", "graph.topicsWait"},
	{"limits", "delay of finding topics", "graph.maxDebounce"},
	{"limits", "time until other instances use a changed index", "index.cacheTTL"},
	{"limits", "endpoints of a tenant", "model/endpoint/own.maxEndpoints"},
	{"limits", "`baseUrl`", "secure/outbound.MaxURLBytes/bytes"},
	{"limits", "`apiKey`", "model/endpoint/own.maxKeyBytes/bytes"},
	{"limits", "`headers`", "model/endpoint/own.maxHeaders model/endpoint/own.maxHeaderBytes/bytes"},
	{"limits", "`models` | 100", "model/endpoint/own.maxModels model/endpoint/own.maxPrefixBytes/bytes"},
	{"limits", "`maxConcurrentCalls`", "model/endpoint/own.maxConcurrentCalls model/endpoint/own.defaultConcurrentCalls"},
	{"limits", "`requestsPerSecond`", "model/endpoint/own.maxRate"},
	{"limits", "answer of a tenant's endpoint", "model/endpoint.maxGuardedAnswer/bytes"},
	{"limits", "answer of an operator's endpoint", "model/endpoint.maxAnswer/bytes"},
	{"limits", "texts of one request for embeddings", "model/embed.maxBatchTexts"},
	{"limits", "failed calls in a row", "model/endpoint.blowAfter model/endpoint.minBlown model/endpoint.maxBlown"},
	{"limits", "time until other instances use a changed endpoint", "model/endpoint/own.fresh"},
	{"limits", "tools of a tenant", "tool.maxTools"},
	{"limits", "`title`, `description`", "tool.maxTitleBytes tool.maxDescriptionBytes/bytes"},
	{"limits", "`settings` | 16 KiB of JSON |", "tool.maxSettingsBytes/bytes"},
	{"limits", "`arguments`", "tool.maxArguments"},
	{"limits", "`meta`", "tool.maxMetaBytes/bytes"},
	{"limits", "`outputSchema`", "tool/schema.MaxBytes/bytes tool/schema.MaxDepth"},
	{"limits", "calls of tools within calls", "tool/toolset.maxDepth"},
	{"limits", "`settings` of a tool of the kind `http`", "tool.maxRemoteBytes/bytes"},
	{"limits", "`inputSchema`, `outputSchema`", "tool/schema.MaxBytes/bytes tool/schema.MaxDepth tool/schema.maxSteps"},
	{"limits", "a template", "tool/httptool.maxTemplate/bytes"},
	{"limits", "parameters of the query", "tool/httptool.maxParameters tool/httptool.maxHeaderBytes/bytes tool/mcpclient.maxHeaders tool/mcpclient.maxHeaderBytes/bytes"},
	{"limits", "address of a request", "tool/httptool.maxURLBytes/bytes"},
	{"limits", "body of a request", "tool/httptool.maxBodyBytes/bytes"},
	{"limits", "`retries`", "tool/httptool.maxRetries tool/httptool.defaultRetries"},
	{"limits", "answer of an `http` tool", "tool/httptool.defaultAnswer/bytes tool/httptool.maxAnswerBytes/bytes"},
	{"limits", "JSON in an answer", "tool/schema.MaxDepth tool/schema.maxNumberBytes tool/schema.maxExponent"},
	{"limits", "answer of an MCP server to", "tool/mcpclient.maxAnswerBytes/bytes"},
	{"limits", "calls of a tenant to other services", "tool/remote.MaxCalls tool/remote.maxWait"},
	{"limits", "calls of tools within each other over", "tool/remote.MaxDepth"},
	{"limits", "sessions of a tenant with MCP servers", "tool/mcptool.maxTenantSessions tool/mcptool.idleTime"},
	{"limits", "token about the caller", "secure/identity.TokenLife"},
	{"limits", "`alternativeAnswers` of a question", "automation/evaluate.maxAnswers automation/evaluate.maxAnswerBytes/bytes"},
	{"limits", "judgements of sources by callers", "automation/evaluate.maxFeedback"},
	{"limits", "[notable questions]", "query/notable.maxKept query/notable.keepDays query/notable.maxQuestionBytes/bytes query/notable.maxWaitingOfTenant query/notable.flushInterval query/notable.maxWaiting"},
	{"limits", "`queryId` of an answer", "query.AnswerDays query.maxNamedSources query.maxAnswerID/bytes"},
	{"limits", "kept results of questions of a tenant, of all", "automation/evaluate.maxResults automation/evaluate.answerWeight"},
	{"limits", "questions of a [tuning]", "automation/evaluate.minTuning automation/evaluate.minTuningHalf"},
	{"limits", "evaluations of agents of a tenant", "automation/evaluate.maxAgentRuns automation/evaluate.answersAtOnce"},
	{"limits", "questions to an agent whose model", "automation/evaluate.answerAttempts automation/evaluate.minAnswerWait automation/evaluate.maxAnswerWait"},
	{"limits", "`declinePattern`", "automation/evaluate.maxPatternBytes/bytes operate/pattern.MaxStates automation/evaluate.maxAnswerKept/bytes"},
	{"limits", "what a judge reads", "automation/evaluate.maxJudgedBytes/bytes"},
	{"limits", "kept text of an answer", "automation/evaluate.maxAnswerKept/bytes automation/evaluate.maxErrorKept automation/evaluate.maxReasonKept"},
	{"limits", "memories of a user", "automation/memory.MaxPerUser"},
	{"limits", "text of a memory, its", "automation/memory.MaxTextBytes automation/memory.maxNoteBytes automation/memory.maxMessageBytes"},
	{"limits", "`queryText` and `topK` of `Recall`", "automation/memory.MaxQuestionBytes automation/memory.MaxTopK automation/memory.DefaultTopK"},
	{"limits", "memories that all pages of", "query.MaxPaged"},
	{"limits", "`user` of the request context", "tenant/access.maxUserBytes"},
	{"limits", "agents of a tenant", "automation/agent.maxAgents"},
	{"limits", "definition of an agent", "automation/agent.maxDefinitionBytes/bytes"},
	{"limits", "description of an agent", "automation/agent.maxDescriptionBytes/bytes automation/agent.maxInstructionsBytes/bytes automation/agent.maxRenderedBytes/bytes"},
	{"limits", "tools of an agent", "automation/agent.maxTools automation/agent.maxIndexes automation/agent.maxRules"},
	{"limits", "`limits.steps`", "automation/agent.maxSteps automation/agent.maxTokens automation/agent.maxSeconds automation/agent.defaultSteps automation/agent.defaultTokens automation/agent.defaultSeconds"},
	{"limits", "`sampling.maxTokens`", "automation/agent.maxTurnTokens automation/agent.maxStops"},
	{"limits", "message to an agent", "automation/agent.MaxMessageBytes/bytes"},
	{"limits", "result of a tool that a model", "automation/agent.maxResultBytes/bytes automation/agent.maxRunBytes/bytes"},
	{"limits", "calls of one turn", "automation/agent.maxStepCalls automation/agent.maxSameCalls automation/agent.maxParallelCalls"},
	{"limits", "threads of a tenant", "automation/agent.maxThreads automation/agent.maxOwnThreads"},
	{"limits", "messages of a thread", "automation/agent.maxThreadMessages automation/agent.maxThreadBytes/bytes"},
	{"limits", "workflows of a tenant", "automation/workflow.maxWorkflows"},
	{"limits", "definition", "automation/workflow.maxDefinitionBytes/bytes automation/workflow.maxSteps automation/workflow.maxNesting"},
	{"limits", "texts of a workflow", "automation/workflow.maxTextBytes/bytes"},
	{"limits", "branches of a step", "automation/workflow.maxBranches"},
	{"limits", "items of a `foreach`", "automation/workflow.maxItems automation/workflow.maxConcurrency"},
	{"limits", "workflows within each other", "automation/workflow.maxDepth"},
	{"limits", "input of a run or a step", "automation/workflow.maxInputBytes/bytes"},
	{"limits", "inputs and outputs of the steps", "automation/workflow.maxRunBytes/bytes"},
	{"limits", "steps of a run", "automation/workflow.maxRunSteps"},
	{"limits", "runs of a tenant that have not ended", "automation/workflow.maxOpenRuns automation/workflow.maxOwnRuns"},
	{"limits", "runs of a tenant that run at once", "automation/workflow.maxTenantRuns"},
	{"limits", "runs that are kept", "automation/workflow.maxRuns"},
	{"limits", "expression", "tool/expression.MaxBytes/bytes"},
	{"limits", "list or object that an expression", "tool/expression.MaxValues"},
	{"limits", "text on the way to the result", "tool/expression.MaxResultBytes/bytes"},
	{"limits", "policies of a tenant", "tool/policy.maxPolicies"},
	{"limits", "`description` and `message` of a policy", "tool/policy.maxDescriptionBytes tool/policy.maxMessageBytes"},
	{"limits", "names and patterns of tools", "tool/policy.maxTools tool/policy.maxToolBytes"},
	{"limits", "`order` of a policy", "tool/policy.maxOrder"},
	{"limits", "paths of a redaction", "tool/policy.maxPaths tool/policy.maxPathBytes"},
	{"limits", "patterns of a redaction", "tool/policy.maxPatterns tool/policy.maxPatternStates"},
	{"limits", "replacement of a redaction", "tool/policy.maxReplacementBytes"},
	{"limits", "time of all policies before", "tool/policy.maxTime"},
	{"limits", "text that is searched for a pattern", "tool/policy.maxMatch"},
	{"limits", "JSON within texts of JSON", "tool/policy.maxNested"},
	{"limits", "arguments that a user is shown", "tool/policy.maxShownBytes"},
	{"limits", "age of an approval", "tool/toolset.maxApprovalAge"},
	{"limits", "sums of the audit log of what", "operate/audit.maxDecisions"},
	{"limits", "prompts of a tenant", "tool/prompt.maxPrompts"},
	{"limits", "versions of a prompt", "tool/prompt.maxVersions"},
	{"limits", "a prompt as a whole", "tool/prompt.maxDefinitionBytes/bytes"},
	{"limits", "arguments of a prompt", "tool/prompt.maxArguments"},
	{"limits", "messages of a prompt", "tool/prompt.maxMessages tool/prompt.maxEmbedded"},
	{"limits", "value of an argument of a prompt", "tool/prompt.maxArgumentBytes/bytes"},
	{"limits", "texts of the messages with arguments", "tool/prompt.maxRenderedBytes/bytes"},
	{"limits", "declared keys of the request context", "tool/contextkey.maxKeys"},
	{"limits", "`schema` of a context key", "tool/contextkey.maxSchemaBytes/bytes"},
	{"limits", "`default` of a context key", "tool/contextkey.maxDefaultBytes/bytes"},
	{"limits", "path of a reference in a filter", "query/filter.maxReferenceBytes"},
	{"limits", "secrets of a tenant", "secure/secret.maxSecrets"},
	{"limits", "`value` of a secret", "secure/secret.maxValueBytes/bytes"},
	{"limits", "`hosts` of a secret", "secure/secret.maxHosts"},
	{"limits", "entries of an `Upsert`", "index/vector.MaxEntries"},
	{"limits", "`id`", "index/vector.maxIDBytes"},
	{"limits", "`namespace`", "index.maxNamespaceBytes"},
	{"limits", "`document`", "index/vector.maxDocumentBytes/bytes"},
	{"limits", "`metadata`", "operate/metadata.MaxBytes/bytes operate/metadata.MaxDepth"},
	{"limits", "`extract` of an upload", "ingest/extract.maxTemplateBytes/bytes ingest/extract.maxSchemaBytes/bytes ingest/extract.maxCount"},
	{"limits", "calls for one document's extraction", "ingest/extract.maxCalls"},
	{"limits", "text of a chunk and its metadata", "ingest/extract.maxShownBytes/bytes ingest/extract.maxShownValue/bytes"},
	{"limits", "an extracted title", "ingest/extract.maxLineBytes/bytes ingest/extract.maxSummaryBytes/bytes"},
	{"limits", "a sentence of context", "ingest/extract.maxSentenceBytes"},
	{"limits", "of a document in a call for sentences", "ingest/extract.maxSeenBytes/bytes ingest/extract.maxSeenChunk/bytes ingest/extract.beginningBytes/bytes ingest/extract.maxSituated"},
	{"limits", "`budgetTokens` of sentences", "ingest/extract.maxBudget ingest/extract.DefaultBudget"},
	{"limits", "`documentIds` of `RestoreDocuments`", "ingest.MaxDeletedNamed ingest.MaxRestored ingest.maxDeletedShown"},
	{"limits", "time for which deleted documents", "ingest.DefaultRetention tenant/quota.MaxDeletedRetention ingest.MaxEraseDelay"},
	{"limits", "documents that one transaction of `SituateDocuments`", "ingest.situatedBatch ingest.maxEstimated"},
	{"limits", "content of `UploadDocument`", "ingest.MaxContentBytes/bytes"},
	{"limits", "content of a document of `UploadDocuments`", "ingest.MaxDocumentBytes/bytes"},
	{"limits", "documents of one stream", "ingest.MaxStreamDocuments"},
	{"limits", "range of a text of `ReadDocument`", "ingest.MaxTextRange/bytes ingest.DefaultTextRange/bytes"},
	{"limits", "original of a document read as an MCP resource", "api/mcp.maxOriginalBytes/bytes"},
	{"limits", "`width` of `RenderPage`", "ingest/parse/pdftext.MinWidth ingest/parse/pdftext.MaxWidth ingest.defaultWidth ingest/parse/pdftext.MaxPixels"},
	{"limits", "`highlights` of `RenderPage`", "ingest.maxMarked ingest.maxMarkedBytes/bytes"},
	{"limits", "PDF file whose page is drawn", "ingest.maxViewedBytes/bytes"},
	{"limits", "reading a file that is no text, or", "ingest/parse/subprocess.fileTimeout ingest/parse/subprocess.patience"},
	{"limits", "conversion by LibreOffice", "ingest/parse/libreoffice.timeout ingest/parse/libreoffice.maxResult/bytes"},
	{"limits", "time of a file whose pages", "ingest/parse/subprocess.ViewTimeout"},
	{"limits", "memory for files whose pages", "ingest.maxViewedAtOnce/bytes"},
	{"limits", "pictures of pages in memory", "ingest.pictureBytes/bytes ingest.largestCached/bytes"},
	{"limits", "link to a picture of a page", "tenant/access/credential.LinkLifetime tenant/access/credential.maxLinkBytes/bytes"},
	{"limits", "`includeBoxes`", "ingest.maxLocated ingest.maxLocatedBytes/bytes ingest/parse/pdftext.maxLocatedPages"},
	{"limits", "large documents being received", "ingest.maxSpooledBytes/bytes"},
	{"limits", "`fingerprint`", "ingest.maxFingerprintBytes"},
	{"limits", "`documentIds` or `uris`", "ingest.MaxDeletedNamed ingest.maxDeletedShown"},
	{"limits", "documents of a source", "ingest.MaxSourceDocuments"},
	{"limits", "text, and text extracted from a file", "ingest/parse.MaxText/bytes"},
	{"limits", "unpacked size of a file", "ingest/parse.maxUnpacked/bytes ingest/parse.maxMember/bytes"},
	{"limits", "members of an archive", "ingest/parse.maxMembers ingest/parse.maxNesting"},
	{"limits", "memory for unpacking Zstandard", "ingest/parse.maxWindow/bytes"},
	{"limits", "nesting of elements of an XML file", "ingest/parse/markup.MaxXMLDepth"},
	{"limits", "front matter of a Markdown file", "chunk/frontmatter.MaxSize/bytes"},
	{"limits", "pages of a PDF file", "ingest/parse/pdftext.MaxPages"},
	{"limits", "links of a PDF file", "ingest/parse/pdftext.maxLinks ingest/parse/pdftext.maxAddress"},
	{"limits", "cell of a table of a web page or a book", "ingest/parse.maxGridCell ingest/parse.maxRepeats"},
	{"limits", "lines drawn on a page of a PDF file", "ingest/parse/pdftext.maxDrawn ingest/parse/pdftext.maxSegments ingest/parse/pdftext.maxRules ingest/parse/pdftext.maxRuledRows ingest/parse/pdftext.maxColumns ingest/parse/pdftext.maxCellLines"},
	{"limits", "elements of the structure of a page of a PDF file", "ingest/parse/pdftext.maxElements ingest/parse/pdftext.maxElementDepth"},
	{"limits", "label of a page of a PDF file", "ingest/parse/pdftext.maxLabel"},
	{"limits", "parts of a message", "ingest/parse.maxParts ingest/parse.maxHeader/bytes"},
	{"limits", "what a cell of a notebook printed", "ingest/parse.maxOutput/bytes"},
	{"limits", "lines of a quoted field", "ingest/parse.maxQuotedLines"},
	{"limits", "scanned page", "ingest/parse/pdftext.minPicturePixels ingest/parse/pdftext.scanResolution"},
	{"limits", "<a id=\"character-recognition\"></a>", "ingest/parse/ocr.pictureTimeout ingest/parse/ocr.maxTextBytes/bytes"},
	{"limits", "recording", "ingest/parse/transcript.maxAttempts"},
	{"limits", "recordings in an archive", "ingest/parse.maxUnheard ingest/parse.maxUnheardBytes/bytes"},
	{"limits", "figures of a file", "ingest/parse.MaxFigures ingest/parse.maxCaption ingest/parse.maxPanel"},
	{"limits", "picture that is a figure", "ingest/parse.minPixels ingest/parse.minPoints ingest/parse.fewestRepeats"},
	{"limits", "objects of a page of a PDF file", "ingest/parse/pdftext.maxObjects ingest/parse/pdftext.maxFileObjects ingest/parse/pdftext.maxPagePictures ingest/parse/pdftext.maxPageCaptions"},
	{"limits", "sheets of a workbook", "ingest/parse.maxSheets"},
	{"limits", "`uri`, `namespace`", "ingest.maxURIBytes"},
	{"limits", "`title`", "ingest.maxTitleBytes"},
	{"limits", "text of `ChunkText`", "ingest.MaxChunkTextBytes/bytes"},
	{"limits", "documents of a tenant that are waiting", "ingest/backlog.defaultMaxDocuments"},
	{"limits", "their bytes", "ingest/backlog.defaultMaxBytes/bytes"},
	{"limits", "attempts of an ingest job", "tenant/job.MaxAttempts tenant/job.maxBackoff"},
	{"limits", "time of one attempt", "ingest.batchTimeout ingest/backlog.batchBytes/bytes"},
	{"limits", "name of a model", "model/endpoint.maxModelBytes"},
	{"limits", "`queryText`", "query.MaxQueryTextBytes/bytes"},
	{"limits", "`topK`", "query.MaxTopK"},
	{"limits", "lists of the chunks of filters that no Postgres index serves", "query.maxListed"},
	{"limits", "lists with codes of the embeddings, of filters that are searched often", "query.maxCoded query.maxCodesBytes/bytes"},
	{"limits", "memory of all lists", "query.ListBytes/bytes"},
	{"limits", "`databaseConfig.pgvector.ef`", "query.maxEf"},
	{"limits", "`databaseConfig.pgvector.probes`", "query.maxProbes"},
	{"limits", "quoted phrases", "query.maxPhrases"},
	{"limits", "terms of a question that are searched", "query.maxTerms"},
	{"limits", "conditions of a question", "query.maxWebConditions"},
	{"limits", "examples of `like`", "query.MaxExamples query.maxExampleChunks query.MaxExcluded"},
	{"limits", "`neighbours`", "query.MaxNeighbours"},
	{"limits", "searches of a query with boosts", "query.boostRounds query.maxCandidates"},
	{"limits", "`boosts` of a query", "query.MaxBoosts"},
	{"limits", "namespaces of an export of chunks", "query.MaxExportNamespaces"},
	{"limits", "part of an export of chunks", "query.MaxExportPart/bytes"},
	{"limits", "documents of an index with a popularity", "query.MaxPopular"},
	{"limits", "each of `fieldWeights`", "query.MaxFieldWeight"},
	{"limits", "ranking profiles of an index", "index.MaxProfiles"},
	{"limits", "versions of a ranking profile", "index.MaxProfileVersions"},
	{"limits", "`profileName`", "index.maxProfileName"},
	{"limits", "`description` of a ranking profile", "index.maxProfileDescription"},
	{"limits", "`ranking` of a profile", "index.MaxProfileBytes/bytes"},
	{"limits", "fields that `DescribeIndex` names", "query.maxListedFields query.maxListedValues"},
	{"limits", "text of a source with `expand`", "query.MaxExpandedBytes/bytes query.shortSection/bytes query.MaxExpanded query.maxOutline"},
	{"limits", "fields of `orderBy`", "query.maxOrderFields"},
	{"limits", "`groupBy.size`", "query.DefaultGroupSize query.MaxTopK"},
	{"limits", "`pageSize` of a query", "query.MaxTopK query.MaxPaged"},
	{"limits", "tables of a document", "ingest/parse/grid.MaxTables ingest/parse/grid.MaxColumns ingest/parse/grid.MaxRows ingest/parse/grid.MaxBytes/bytes"},
	{"limits", "`sql` of `QueryTable`", "query/table.MaxSQLBytes"},
	{"limits", "`plan` of `QueryTable`", "query/table.MaxTables query/table.MaxOutputs query/table.MaxGroups query/table.MaxOrders query/table.MaxComputed query/table.MaxFilterFields query/table.MaxExpressionBytes query/table.MaxOperations query/table.MaxDepth query/table.MaxOffset"},
	{"limits", "rows of the answer of `QueryTable`", "query/table.MaxRows query/table.DefaultRows query.maxAnswerBytes/bytes query/table.maxRanges"},
	{"limits", "`search` of `ListTables`", "query.maxTableSearchBytes"},
	{"limits", "`facets` of `CountChunks`", "query/facet.Max query/facet.MaxValues query/facet.DefaultValues query/facet.MaxRanges query/facet.MaxIntervals"},
	{"limits", "values that facets count", "query/facet.MaxBytes query.maxGroups query.maxGroupBytes/bytes"},
	{"limits", "`timeZone` of a facet", "query/facet.maxZoneBytes"},
	{"limits", "time that the database counts", "query.countTimeout"},
	{"limits", "counts that are kept", "query.talliesBytes/bytes"},
	{"limits", "metadata in memory", "query/column.keeperBytes/bytes query/column.maxTableBytes/bytes query/column.maxColumns query/column.watchTime"},
	{"limits", "`maxTokens` of a query", "query/budget.Min query/budget.Max query/budget.MaxNamed"},
	{"limits", "texts of `Embed`", "query.MaxEmbedTexts query.maxEmbedTextBytes/bytes"},
	{"limits", "terms of a question used by `lexical`", "rerank.maxTerms"},
	{"limits", "candidates that a local cross-encoder scores", "rerank.localDepth rerank.localStep rerank.localTimeout"},
	{"limits", "results of `Rerank`", "rerank.MaxCandidates query.maxRerankTextBytes/bytes"},
	{"limits", "states of the regular expressions", "operate/pattern.MaxStates"},
	{"limits", "work of splitting a text |", "chunk.workPerByte chunk.regexPerByte chunk.workSlack"},
	{"limits", "work of splitting a text in", "ingest.maxChunkTextSteps"},
	{"filters", "the whole filter", "query/filter.MaxBytes/bytes"},
	{"filters", "levels of nesting", "query/filter.MaxDepth"},
	{"filters", "conditions", "query/filter.MaxConditions"},
	{"filters", "values of one `$in`", "query/filter.MaxList"},
	{"filters", "a field name", "query/filter.MaxNameBytes"},
	{"filters", "a `$regex`", "query/filter.MaxRegexBytes"},
	{"filters", "a number", "query/filter.MaxDigits"},
	{"filters", "points of a `$geoPolygon`", "query/filter.MaxPolygonPoints"},
	{"chunking", "any size option", "chunk.MaxSizeLimit"},
	{"chunking", "entries in a list option", "chunk.maxListItems"},
	{"chunking", "length of an entry", "chunk.maxItemBytes"},
	{"chunking", "chunks of one text", "chunk.MaxChunks"},
	{"chunking", "all chunks together", "chunk.maxRepeat"},
	{"chunking", "states of the regular", "operate/pattern.MaxStates"},
	{"chunking", "headings for `semantic-markdown`", "chunk/markdown.maxSections"},
	{"chunking", "`maxSize` (alias `size`)", "chunk.DefaultMaxSize"},
}

// Limits in the reference are the constants of the code.
func TestDocumentedLimitsAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	rows := map[string][]string{}
	for _, limit := range documentedLimits {
		if rows[limit.page] == nil {
			text, err := os.ReadFile("../../docs/reference/" + limit.page + ".md")
			if err != nil {
				t.Fatal(err)
			}
			rows[limit.page] = strings.Split(string(text), "\n")
		}
		row := ""
		for _, line := range rows[limit.page] {
			if strings.HasPrefix(line, "| "+limit.row) {
				row = line
			}
		}
		if row == "" {
			t.Errorf("%s.md has no row %q", limit.page, limit.row)
			continue
		}
		for name := range strings.FieldsSeq(limit.constants) {
			name, bytes := strings.CutSuffix(name, "/bytes")
			if value := constantText(t, name, bytes); !strings.Contains(row, value) {
				t.Errorf("%s.md says %q, but %s is %s", limit.page, row, name, value)
			}
		}
	}
}

// durations replaces the constants of package time by their values.
var durations = strings.NewReplacer(
	"time.Millisecond", fmt.Sprint(int64(time.Millisecond)), "time.Second", fmt.Sprint(int64(time.Second)),
	"time.Minute", fmt.Sprint(int64(time.Minute)), "time.Hour", fmt.Sprint(int64(time.Hour)),
)

// constantText returns the value of a constant as the pages write it.
func constantText(t *testing.T, name string, bytes bool) string {
	t.Helper()
	dot := strings.LastIndexByte(name, '.')
	source := constantSource(t, name[:dot], name[dot+1:])
	result, err := types.Eval(token.NewFileSet(), nil, token.NoPos, durations.Replace(source))
	if err != nil {
		t.Fatalf("%s = %s: %v", name, source, err)
	}
	value, _ := constant.Int64Val(result.Value)
	switch {
	case strings.Contains(source, "time."):
		return durationText(time.Duration(value))
	case bytes:
		return bytesText(value)
	}
	return grouped(value)
}

// constantSource returns the expression that defines a constant of a package.
func constantSource(t *testing.T, pkg, name string) string {
	t.Helper()
	if !strings.HasPrefix(pkg, "cmd/") {
		pkg = "internal/" + pkg
	}
	files, err := filepath.Glob("../../" + pkg + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		source := ""
		ast.Inspect(file, func(node ast.Node) bool {
			if spec, ok := node.(*ast.ValueSpec); ok && len(spec.Values) == 1 && spec.Names[0].Name == name {
				value := spec.Values[0]
				source = string(text[fset.Position(value.Pos()).Offset:fset.Position(value.End()).Offset])
			}
			return true
		})
		if source != "" {
			return source
		}
	}
	t.Fatalf("package %s has no constant %s", pkg, name)
	return ""
}

func durationText(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d%time.Minute == 0 && d != time.Minute:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

func bytesText(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n%unit.size == 0 {
			return fmt.Sprintf("%d %s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d", n)
}

// grouped writes a number with commas between groups of three digits.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
