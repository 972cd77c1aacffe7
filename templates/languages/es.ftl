# Lo que dicen las páginas, en español. Deje como están los nombres entre llaves.

language_name = Español
language_switch = Idioma: { $language }
service = Tabularium
skip = Ir al contenido
test_mode = Modo de prueba: nadie en estos registros es real.
wanted_by = { $app } quiere ver sus registros médicos
cancel = Cancelar y volver a { $app }
working = Un momento…
optional = opcional
to_correct = Hay algo que corregir
wrong_title = Por corregir: { $title }
promise = Si acepta, solo { $app } recibe sus registros. Guardamos una copia.
promise_shared = Solo { $app } recibe lo que comparte. Guardamos una copia. Puede detenerlo cuando quiera.
app_privacy = Privacidad: cómo usa { $app } sus datos
app_privacy_short = Privacidad
app_terms = Condiciones de uso
brand_privacy = Privacidad
brand_help = Ayuda
brand_contact = Contacto
organization_payer = Plan de salud
organization_provider = Clínica u hospital
organization_pharmacy = Farmacia
organization_lab = Laboratorio
progress = Progreso
step_find = Buscar
step_review = Revisar
step_sign_in = Iniciar sesión
step_verify = Verificar
step_connect = Conectar
step_share = Compartir
step_done = hecho

choose_title = ¿Dónde están sus registros?
choose_lead = Busque su plan de salud, clínica u hospital. Iniciará sesión allí, en su propia página.
choose_lead_details = Busque su plan de salud, clínica u hospital. Iniciará sesión allí, o preguntaremos por usted con sus datos.
choose_label = Nombre de su plan o proveedor
choose_hint = Por ejemplo, un nombre que aparece en su tarjeta de seguro
choose_search = Buscar
choose_results = Lugares
choose_none = No encontramos nada para «{ $query }». Revise la ortografía o pruebe un nombre más corto.
choose_empty = Aún no hay ningún lugar que conectar aquí.
choose_found = { $number ->
    [one] { $number } lugar
   *[other] { $number } lugares
 }
choose_many = { $number ->
   *[other] Más de { $number } lugares
 }
choose_more = { $number ->
   *[other] Solo se muestran los primeros { $number }. Escriba más letras del nombre para ver menos.
 }
choose_connected = Conectado
choose_details = Buscar con mis datos
choose_searching = Buscando…
choose_lost = ¿No encuentra el suyo?
choose_lost_tips = Pruebe con el nombre de su tarjeta de seguro o de una factura, el grupo al que pertenece, o su ciudad o estado. No hace falta escribirlo bien.
choose_lost_details = Si no está en la lista, podemos buscar sus registros con su nombre y fecha de nacimiento.
choose_lost_app = Si no está en la lista, todavía no se puede conectar. Dígale a { $app } cuál le falta.
choose_lost_contact = Si no está en la lista, todavía no se puede conectar.
choose_lost_tell = Díganos cuál le falta
choose_hub = Volver a mis fuentes

share_title = ¿Compartir sus registros de { $source }?
share_with = { $app } recibirá:
share_person = Quién es usted
share_person_more = nombre, fecha de nacimiento, dirección y datos de contacto
share_insurance = Seguro
share_health = Salud
share_care = Atención
share_more = Más
share_more_more = otros registros sobre usted
kind_coverage = cobertura
kind_claims = reclamaciones y lo que se pagó
kind_conditions = enfermedades
kind_allergies = alergias
kind_medications = medicamentos
kind_immunizations = vacunas
kind_visits = visitas
kind_procedures = procedimientos
kind_results = resultados de pruebas
kind_documents = documentos
kind_plans = planes de atención
kind_teams = equipos de atención
kind_devices = dispositivos médicos
list_comma = { ", " }
list_and = { " y " }
share_what_more = Qué incluye
share_long_more = Más sobre esto
share_where = No todos los lugares guardan todo esto. Lo que no tienen no se comparte.
share_how_long = Por cuánto tiempo
share_once_short = 24 horas. Luego borramos nuestra copia.
share_once = Obtenemos sus registros una vez. { $app } puede verlos durante 24 horas. Luego borramos nuestra copia.
share_once_forced = { $app } pidió más, pero este lugar los da solo una vez.
share_ongoing_short = Hasta que usted o la aplicación lo detengan, con los registros nuevos.
share_ongoing = { $app } puede seguir recibiendo registros nuevos sin volver a preguntarle. Eso termina cuando usted o la aplicación lo detienen, o cuando la aplicación no renueva su acceso durante 90 días. Luego borramos nuestra copia.
share_declined = Si no acepta el acceso duradero en { $source }, o si no lo da, obtenemos sus registros una vez y borramos nuestra copia después de un día.
share_longest = { $number ->
    [one] Después de { $number } día le pedirá que inicie sesión otra vez.
   *[other] Después de { $number } días le pedirá que inicie sesión otra vez.
 }
share_end = Puede detenerlo en cualquier momento en { $app }. Entonces borramos nuestra copia de sus registros.
share_password = Ahora iniciará sesión allí. Nunca vemos su contraseña.
share_agree = Aceptar y continuar a { $source }
share_other = Elegir otro lugar

problem_refused_title = { $source } no compartió sus registros
problem_refused = Nos dijo que no se dio acceso. Quizás canceló allí o no aceptó. No se compartió nada.
problem_no_patient_title = { $source } no encontró registros suyos
problem_no_patient = Inició sesión, pero allí no hay registros a su nombre. No se compartió nada.
problem_down_title = No podemos comunicarnos con { $source }
problem_down = No respondió como esperábamos, así que no se compartió nada. Inténtelo otra vez en unos minutos.
problem_rejected_title = { $source } no acepta este servicio
problem_rejected = Nos rechazó antes de que usted pudiera aceptar, por la forma en que estamos configurados allí. No se compartió nada. Ya avisamos a quienes llevan este servicio.
problem_unreadable_title = No podemos conectar { $source }
problem_unreadable = Guarda los registros en una forma que no podemos leer. No se compartió nada. Intentarlo otra vez no servirá.
problem_again = Intentar con { $source } otra vez
problem_other = Elegir otro lugar

hub_title = Sus fuentes
hub_title_alone = Ya está conectado
hub_lead_alone = Un último paso: comparta sus registros con { $app }.
hub_remove = Quitar
hub_remove_named = Quitar { $source }
hub_again = Intentar otra vez
hub_lead = Conecte todas las que quiera. Luego compártalas con { $app } de una vez.
hub_connected = Listas para compartir
hub_failed = Sin conectar
hub_none = Aún no hay nada conectado.
hub_add = Agregar otra fuente
hub_finish = Compartir con { $app }
hub_drop = No compartir nada
hub_leave = Volver a { $app }
hub_failed_all = No pudimos conectar ninguna de sus fuentes. Inténtelo otra vez, agregue una a mano o vuelva atrás.
hub_found = Mostrar los lugares que encontramos

details_title = Busque sus registros con sus datos
details_title_at = Busque sus registros en { $source }
details_lead_at = { $source } no tiene página de inicio de sesión. Le preguntaremos por medio de una red de proveedores, a la que daremos estos datos. Solo los usamos para esta búsqueda.
details_lead = Preguntaremos a una red de proveedores si conocen a una persona con estos datos. Solo los usamos para esta búsqueda.
details_given = Nombre
details_family = Apellido
details_birth_date = Fecha de nacimiento
details_birth_date_hint = Por ejemplo: 31 12 1980
details_day = Día
details_month = Mes
details_year = Año
date_order = day month year
month_names = enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
details_birth_date_future = Su fecha de nacimiento no puede estar en el futuro
details_birth_date_old = Revise el año de su fecha de nacimiento
details_gender = Sexo registrado
details_gender_none = Prefiero no decirlo
details_female = Femenino
details_male = Masculino
details_other = Otro
details_unknown = Desconocido
details_postal_code = Código postal
details_search = Buscar
details_manual = Buscar un lugar por su nombre
details_missing_given = Escriba su nombre
details_missing_family = Escriba su apellido
details_bad_birth_date = Escriba su fecha de nacimiento con día, mes y año completo, por ejemplo 31 12 1980
details_long = Es demasiado largo
details_down_title = La búsqueda no funcionó
details_down = La red no respondió. Inténtelo otra vez en un momento o busque un lugar por su nombre.

identity_title = Primero, demuestre que es usted
identity_lead = Un socio comprueba quién es usted. Luego preguntamos a una red nacional qué lugares tienen sus registros.
identity_what = El socio nos da su nombre, fecha de nacimiento, sexo y dirección, y nada más.
identity_go = Verificar con { $provider }
identity_none_title = Ahora no podemos comprobar quién es usted
identity_none = Aquí no hay ningún socio que compruebe quién es usted. Vuelva atrás e inténtelo más tarde.
identity_unknown = Nuestro socio
identity_refused_title = No pudimos confirmar que es usted
identity_refused = { $provider } no confirmó quién es usted. Quizás canceló allí. No se compartió nada.
identity_down_title = No podemos comunicarnos con { $provider }
identity_down = No respondió como esperábamos. Inténtelo otra vez en unos minutos.

facilities_title = Estos lugares tienen registros suyos
facilities_not_there = { $source } no tiene registros con estos datos. Estos otros lugares quizás tengan algunos.
facilities_title_details = Estos lugares quizás tengan registros suyos
facilities_lead = Elija cuáles conectar. Más tarde puede agregar a mano planes de salud y otros lugares.
facilities_legend = Lugares que encontramos
facilities_connect = Aceptar y conectar
facilities_skip = No conectar ninguno
facilities_nothing = Elija al menos un lugar o continúe sin ninguno
facilities_none_title = No encontramos registros suyos
facilities_none_identity = Ya demostró quién es, pero nadie en la red tiene registros con sus datos. Aún puede agregar a mano un plan o proveedor.
facilities_none_at = Ni { $source } ni nadie más en la red tiene registros con estos datos. Revíselos o busque un lugar por su nombre.
facilities_none_details = Nadie en la red tiene registros con estos datos. Revíselos o busque un lugar por su nombre.
facilities_add = Agregar una fuente a mano
facilities_again = Cambiar mis datos
facilities_leave = Volver a { $app } sin compartir

waiting_source = Conectando con { $source }
waiting_source_text = Inició sesión en { $source }. Estamos estableciendo la conexión. Puede tardar medio minuto.
waiting_provider = Buscando sus registros
waiting_provider_text = { $provider } está confirmando quién es usted. Luego preguntamos qué lugares tienen registros suyos. Puede tardar medio minuto.
waiting_search = Buscando sus registros
waiting_search_text = Estamos preguntando qué lugares podrían tener registros suyos. Puede tardar medio minuto.
waiting_places = Conectando sus lugares
waiting_places_text = Estamos pidiendo a cada uno acceso a sus registros. Puede tardar un minuto.
waiting_here = Esta página continúa sola. Déjela abierta.
waiting_late = Está tardando más de lo normal. No tiene que hacer nada.
waiting_look = Mirar otra vez
place_asked = Conectando…
place_connected = Conectado
place_failed = Sin conectar

frame_title = Inicie sesión en { $source }
frame_lead = { $source } se abre en su propia ventana. Cuando termine allí, esta página continúa sola.
frame_open = Abrir { $source }
frame_waiting = Esperando a que termine en la otra ventana.
frame_check = Ya terminé allí
link_title = Conecte sus registros médicos
link_close = Cerrar

window_title = Puede cerrar esta ventana
window_text = Continúe en la página de la que vino.

done_title = Listo
done_text = Sus registros van en camino a { $app }. Puede cerrar esta ventana.
done_next = { $app } los recibe en los próximos minutos. Puede dejar de compartir allí en cualquier momento.
left_title = No se compartió nada
left_text = Puede cerrar esta ventana.

ends_for = { $number ->
    [one] Abierta { $number } minuto
   *[other] Abierta { $number } minutos
 }
ends_until = Abierta hasta las { $time }
ends_more = Para protegerlo, la página se cierra entonces si no hace nada. Si la carga de nuevo, tendrá más tiempo.
ends_title = ¿Necesita más tiempo?
ends_text = Para protegerlo, esta página se cierra a las { $time } si no se queda.
ends_stay = Quedarme en esta página

over_title = Esta página ya no está abierta
over_text = Se acabó su tiempo, o usted la terminó o la abrió en otra ventana.
over_again = Para empezar de nuevo, vuelva a la aplicación o al sitio web que lo envió aquí.
over_left = Aquí no se compartió nada con { $app }. Puede empezar de nuevo allí cuando quiera.
over_shared_title = Ya terminó aquí
over_shared = Compartió sus registros con { $app }.
over_back = Volver a { $app }
over_close = Puede cerrar esta ventana.
other_title = Continuó en otra ventana
other_text = Empezó de nuevo después de abrir esta página, y solo funciona la más nueva. No se perdió nada: continúe allí y cierre las otras ventanas como esta.
other_go_on = Continuar en la más nueva
ticket_title = Esta ventana ya no es actual
ticket_text = Ciérrela, vuelva a la página que la abrió y presione allí el botón otra vez. No se compartió nada.
callback_title = No sabemos de dónde viene
callback_text = Alguien lo envió de vuelta, pero no desde un inicio de sesión abierto en este navegador. No se compartió nada. Vuelva a la aplicación que lo envió y empiece de nuevo.
busy_title = Demasiadas personas a la vez
busy_text = Acabamos de recibir demasiadas solicitudes de su red. No se compartió nada. Espere unos segundos y cargue esta página otra vez.
nowhere_title = No hay nada en esta dirección
nowhere_text = Puede estar mal escrita, o lo que había aquí ya no está. Si lo envió aquí una aplicación o un sitio web, vuelva allí y empiece de nuevo.
nowhere_start = Ir a la página de inicio
nowhere_help = Obtener ayuda
broken_title = Algo salió mal aquí
broken_text = No es culpa suya, y no se compartió nada por ello. Inténtelo otra vez en un momento.

untrusted_title = Este enlace no funciona
untrusted_client = No conocemos la aplicación que lo envió.
untrusted_no_redirect = La aplicación que lo envió no dijo adónde enviarlo de vuelta.
untrusted_redirect = La aplicación que lo envió pidió enviarlo de vuelta a una dirección que no es suya.
untrusted_origin = La página que abrió esta ventana no pertenece a la aplicación que nombra.
untrusted_what = No se compartió nada. Cierre esta ventana y avise al autor de la aplicación.
untrusted_detail = Para su autor:

errors_title = Códigos de error
errors_lead = Lo que se dice a una aplicación cuando un paciente vuelve sin registros, y qué se puede hacer.
errors_back = Todos los códigos de error
errors_patient = Si estaba compartiendo sus registros
errors_developer = Si usted hace la aplicación
errors_unknown_title = No existe ese código de error

error_access_denied = El paciente no terminó
error_access_denied_patient = No se compartió nada. Empiece de nuevo en la aplicación cuando quiera.
error_access_denied_developer = El paciente canceló, se fue o no se encontraron registros suyos; error_description dice cuál. Permita que empiece de nuevo cuando lo desee.
error_session_timeout = La sesión caducó
error_session_timeout_patient = Estuvo ausente más de 30 minutos, así que cerramos las páginas para protegerlo. No se compartió nada. Empiece de nuevo en la aplicación.
error_session_timeout_developer = El paciente volvió después de 30 minutos sin ningún paso. Ofrezca empezar de nuevo con otros state y code_challenge.
error_abandoned = El proceso se terminó antes de tiempo
error_abandoned_patient = Lo que empezó se terminó antes de completarse. No se compartió nada. Empiece de nuevo en la aplicación.
error_abandoned_developer = El flujo se terminó antes de que el paciente lo completara. Ofrezca empezar de nuevo con otros state y code_challenge.
error_no_facilities = No se pudo conectar ninguna fuente
error_no_facilities_patient = No pudimos conectar ninguno de los lugares que eligió. No se compartió nada. Inténtelo más tarde.
error_no_facilities_developer = Todas las fuentes que eligió el paciente fallaron por razones técnicas. Ofrezca intentarlo más tarde.
error_server_error = El servicio falló
error_server_error_patient = Algo falló aquí. No se compartió nada. Inténtelo otra vez en unos minutos.
error_server_error_developer = El flujo no pudo empezar o terminar por razones internas. Ofrezca intentarlo de nuevo; si continúa, comunique el X-Request-Id de la última respuesta.

## La página que abre un registro compartido. El script de la página llena los huecos.

viewer_title = Registro médico compartido
viewer_needs = Esta página necesita JavaScript. El registro está protegido, y solo su navegador tiene la clave: está en el enlace. Permita los scripts en esta página, o abra el enlace en una aplicación que lea SMART Health Links.
viewer_passcode = Código de acceso
viewer_passcode_about = Se lo da la persona que compartió este registro.
viewer_recipient = Su nombre o su organización
viewer_recipient_about = Opcional. El paciente puede ver quién abrió el registro.
viewer_open = Abrir el registro
viewer_contents = Lo que contiene el registro
viewer_footer = Su navegador abre el registro. La clave es parte del enlace, así que cualquiera que tenga el enlace completo puede abrir el registro hasta que termine.
viewer_ended_title = Este enlace ha terminado
viewer_ended = Se acabó su tiempo, o la persona que compartió el registro lo retiró. Pídale un enlace nuevo.
viewer_newer_title = No podemos abrir este enlace
viewer_newer = Es de un tipo más nuevo. Ábralo con una aplicación que lea SMART Health Links.
viewer_elsewhere_title = Este enlace es de otro lugar
viewer_elsewhere = Lo hizo otro servicio. Ábralo en la dirección que venía con él.
viewer_unfetched_title = No pudimos obtener el registro
viewer_offline = No hubo respuesta. Revise su conexión y vuelva a cargar esta página.
viewer_busy_title = Demasiadas personas a la vez
viewer_busy = Espere un minuto e inténtelo otra vez.
viewer_failed = Algo falló de nuestra parte. Inténtelo otra vez en unos minutos.
viewer_damaged_title = Este enlace está dañado
viewer_damaged = Falta una parte o se cambió en el camino. Copie el enlace completo, o escanee otra vez el código QR.
viewer_unshown_title = No pudimos mostrar el registro
viewer_unshown = Este navegador no pudo abrirlo. Actualice el navegador o pruebe con otro.
viewer_tries_over = Se escribieron demasiados códigos incorrectos. Pida un enlace nuevo a la persona que compartió el registro.
viewer_wrong = { $number ->
    [one] Ese no es el código. Le queda un intento. Después, el enlace termina para siempre.
   *[other] Ese no es el código. Le quedan { $number } intentos. Después, el enlace termina para siempre.
 }
viewer_opening = Abriendo el registro…
viewer_protected = Necesita un código para abrir este registro.
viewer_protected_named = Necesita un código para abrir «{ $label }».
viewer_shared_as = Compartido como
viewer_patient = Paciente
viewer_born = Nacimiento
viewer_made = Creado
viewer_issued = Emitido
viewer_issued_by = Emitido por
viewer_signature = Firma
viewer_card = Tarjeta de salud
viewer_card_codes = Una tarjeta de salud omite palabras para ahorrar espacio. Algunos registros solo tienen un código.
viewer_download_card = Descargar la tarjeta de salud
viewer_print = Imprimir o guardar como PDF
viewer_download_pdf = Descargar el PDF
viewer_download_data = Descargar los datos (JSON)
viewer_no_document = No podemos mostrar este registro como página. Aun así, puede descargar sus datos.
viewer_section = Sección
viewer_empty = No hay nada en esta sección.
viewer_what = Qué
viewer_when = Cuándo
viewer_value = Valor
viewer_status = Estado
viewer_unsaid = Sin nombre
viewer_signed_elsewhere = No pudimos comprobarla: otro servicio hizo esta tarjeta
viewer_signed_unknown = No confíe en esta tarjeta: el emisor no conoce su clave
viewer_signed_changed = No confíe en esta tarjeta: alguien la cambió
viewer_signed_revoked = La tarjeta es auténtica, pero el emisor la retiró
viewer_signed_good = La tarjeta es auténtica: es del emisor y sigue siendo válida
viewer_signed_unchecked = No pudimos comprobarla: no se cargaron las claves del emisor
